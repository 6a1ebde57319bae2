"""A group of the consumer protocol (KIP-848): who has which partition, and who subscribes to what.

Its epochs, states and records are those of modern_group.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Any, Literal
from uuid import UUID

from msgspec.structs import replace

from kafkalite.group_coordinator import consumer_records
from kafkalite.group_coordinator.assignors import Target
from kafkalite.group_coordinator.changes import Change
from kafkalite.group_coordinator.consumer_member import ConsumerMember, partitions_in
from kafkalite.group_coordinator.modern_group import ModernGroup
from kafkalite.group_coordinator.subscriptions import union_of
from kafkalite.group_coordinator.timers import Timer
from kafkalite.wire.java_order import in_map_order
from kafkalite.wire.messages.stored.consumer_group_current_member_assignment import (
    ConsumerGroupCurrentMemberAssignmentValue,
)
from kafkalite.wire.messages.stored.consumer_group_member_metadata import (
    ConsumerGroupMemberMetadataValue,
)
from kafkalite.wire.messages.stored.consumer_group_regular_expression import (
    ConsumerGroupRegularExpressionKey,
)
from kafkalite.wire.messages.stored.consumer_group_target_assignment_member import (
    ConsumerGroupTargetAssignmentMemberValue,
)

# So many owners that have given up their partitions are kept, beside as many as there are others.
SPARE_OWNERS = 1000


class ConsumerGroup(ModernGroup[ConsumerMember, Target]):
    """One group. `timers`, `next_look` and `is_metadata_stale` are not in the log."""

    group_type: Literal["consumer"] = "consumer"
    protocol_type = "consumer"
    records = consumer_records.RECORDS

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.is_metadata_stale = False
        self.member_id_by_instance: dict[str, str] = {}
        self.expressions: dict[str, frozenset[str]] = {}
        """Regular expressions, and the topics they match."""
        self.next_look = Timer(lambda: None)
        """The time to look at them again."""
        self._owners: dict[tuple[UUID, int], str] = {}
        """The member that was given a partition last, which may have given it up since. So nothing
        is done for each partition of a member that goes."""
        self._held = 0
        """The number of partitions that members have."""
        self._subscriptions: Counter[tuple[frozenset[str], str]] = Counter()
        """Members by subscription: names and an expression. Thousands share a few."""
        self._subscribed_topics: frozenset[str] | None = None
        self.classic_member_count = 0

    @property
    def used_expressions(self) -> frozenset[str]:
        """The regular expressions that members subscribe to."""
        return frozenset(expression for _, expression in self._subscriptions) - {""}

    def depends_on(self, topics: Collection[str]) -> bool:
        """True if a change of these topics matters to the group. Expressions may match any."""
        return bool(self.expressions) or not self.subscribed_topics.isdisjoint(topics)

    def close_timers(self) -> None:
        super().close_timers()
        self.next_look.close()

    # State from the records

    def new_member(self, member_id: str) -> ConsumerMember:
        return ConsumerMember(member_id=member_id)

    def _with_metadata(
        self, member: ConsumerMember, value: ConsumerGroupMemberMetadataValue
    ) -> ConsumerMember:
        return replace(
            member,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            subscribed_topic_names=frozenset(value.subscribed_topic_names),
            subscribed_topic_regex=value.subscribed_topic_regex or "",
            server_assignor=value.server_assignor,
            classic=value.classic_member_metadata,
        )

    def _target_from(self, value: ConsumerGroupTargetAssignmentMemberValue) -> Target:
        return {topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions}

    def _with_assignment(
        self, member: ConsumerMember, value: ConsumerGroupCurrentMemberAssignmentValue
    ) -> ConsumerMember:
        epoch = value.member_epoch
        assigned_from = consumer_records.assigned_from
        return replace(
            member,
            member_epoch=epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=consumer_records.RECORDS.state_of(value.state),
            assigned=assigned_from(value.assigned_partitions, epoch),
            pending_revocation=assigned_from(value.partitions_pending_revocation, epoch),
        )

    def _without_assignment(self, member: ConsumerMember) -> ConsumerMember:
        return replace(super()._without_assignment(member), assigned={}, pending_revocation={})

    def _apply_further(self, key: object, value: Any, now_ms: int) -> None:
        if isinstance(key, ConsumerGroupRegularExpressionKey):
            self._subscribed_topics = None
            if value is None:
                self.expressions.pop(key.regular_expression, None)
            else:
                self.expressions[key.regular_expression] = frozenset(value.topics)

    def _take(self, member: ConsumerMember) -> None:
        self._owners.update(
            dict.fromkeys(
                partitions_in(member.assigned, member.pending_revocation), member.member_id
            )
        )
        self._held += member.partition_count
        if len(self._owners) > 2 * self._held + SPARE_OWNERS:
            self._owners = {
                partition: each.member_id
                for each in self.members.values()
                for partition in partitions_in(each.assigned, each.pending_revocation)
            }
        if member.instance_id is not None:
            self.member_id_by_instance[member.instance_id] = member.member_id
        self.classic_member_count += member.classic is not None
        subscription = member.subscribed_topic_names, member.subscribed_topic_regex
        if subscription not in self._subscriptions:
            self._subscribed_topics = None
        self._subscriptions[subscription] += 1

    def _release(self, member: ConsumerMember) -> None:
        self._held -= member.partition_count
        if not self._held:
            self._owners = {}
        instance_id = member.instance_id
        if (
            instance_id is not None
            and self.member_id_by_instance.get(instance_id) == member.member_id
        ):
            del self.member_id_by_instance[instance_id]
        self.classic_member_count -= member.classic is not None
        subscription = member.subscribed_topic_names, member.subscribed_topic_regex
        self._subscriptions[subscription] -= 1
        if not self._subscriptions[subscription]:
            del self._subscriptions[subscription]
            self._subscribed_topics = None

    # State that follows from it

    def is_free(self, topic_id: UUID, partition: int) -> bool:
        """True if no member has the partition, nor has still to give it up."""
        return self._owner_of(topic_id, partition) is None

    def _owner_of(self, topic_id: UUID, partition: int) -> str | None:
        member = self.members.get(self._owners.get((topic_id, partition), ""))
        if member is None or member.assignment_epoch(topic_id, partition) is None:
            return None
        return member.member_id

    def is_waiting(self, member: ConsumerMember) -> bool:
        """True if something the member is to have is still with another."""
        return any(
            not member.has(topic_id, partition)
            and self._owner_of(topic_id, partition) not in (None, member.member_id)
            for topic_id, partitions in self.targets.get(member.member_id, {}).items()
            for partition in partitions
        )

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """The topics it subscribes to by name, and those its expression matches."""
        return self._topics_of(member.subscribed_topic_names, member.subscribed_topic_regex)

    def _topics_of(self, names: frozenset[str], expression: str) -> frozenset[str]:
        matched = self.expressions.get(expression)
        if not matched:
            return names
        return names | matched if names else matched

    @property
    def subscribed_topics(self) -> frozenset[str]:
        if self._subscribed_topics is None:
            self._subscribed_topics = union_of(
                self._topics_of(names, expression) for names, expression in self._subscriptions
            )
        return self._subscribed_topics

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed_topics

    def preferred_assignor(self, member_id: str = "") -> str | None:
        """The assignor that most members name; of several the first of a hash table of Java's.

        While a member is heard, Kafka takes its vote out and puts it in again: if no other member
        names the same assignor, that one is the first.
        """
        votes = Counter(m.server_assignor for m in self.members.values() if m.server_assignor)
        names = in_map_order(votes)
        heard = self.members.get(member_id)
        vote = heard.server_assignor if heard is not None else None
        if vote and votes[vote] == 1:
            names.insert(0, vote)
        return max(names, key=votes.__getitem__, default=None)

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        member_id = self.member_id_by_instance.get(instance_id or "")
        return None if member_id is None else self.members[member_id]

    # Members that speak the classic protocol

    def supports_classic(self, protocol_type: str, names: Iterable[str]) -> bool:
        """True if a classic member can join: with a protocol that all classic members support."""
        if protocol_type != self.protocol_type:
            return False
        if self.is_empty:
            return any(True for _ in names)
        supporters = Counter(
            protocol.name
            for member in self.members.values()
            if member.classic is not None
            for protocol in member.classic.supported_protocols
        )
        return any(supporters[name] == self.classic_member_count for name in names)

    # Offsets and administration

    def assigned_since(self, member: ConsumerMember, topic_id: UUID, partition: int) -> int | None:
        return member.assignment_epoch(topic_id, partition)

    def _further_tombstones(self) -> Iterable[Change]:
        return [
            consumer_records.no_regular_expression(self.group_id, expression)
            for expression in self.expressions
        ]
