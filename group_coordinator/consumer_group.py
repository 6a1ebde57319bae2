"""A group of the consumer protocol (KIP-848): its members, what they are to have, and what they
have.

Three epochs tell how far the group is. The *group epoch* grows with every change of members,
subscriptions or topics. The *assignment epoch* is the group epoch that the target was computed for.
Each member's epoch is the one it has reconciled itself to. So the state is not kept but follows:

    Empty         no members
    Assigning     the target is older than the group epoch
    Reconciling   some member has not got to the target yet
    Stable        all have

What a group is, is what its records in `__consumer_offsets` say: they are applied here when they
are read back and likewise when they are written, so that the two cannot differ.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from enum import Enum
from typing import Literal
from uuid import UUID

from kafkalite.group_coordinator import consumer_records, state_log
from kafkalite.group_coordinator.assignors import Target
from kafkalite.group_coordinator.consumer_member import (
    LEAVE_EPOCH,
    Assigned,
    ConsumerMember,
    ConsumerMemberState,
)
from kafkalite.group_coordinator.offset_checks import (
    MayCommit,
    check_commit_epoch,
    check_fetch,
    committing_member,
)
from kafkalite.group_coordinator.timers import Timer
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.consumer_group_current_member_assignment import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
)
from kafkalite.wire.messages.stored.consumer_group_member_metadata import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from kafkalite.wire.messages.stored.consumer_group_metadata import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)
from kafkalite.wire.messages.stored.consumer_group_regular_expression import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
)
from kafkalite.wire.messages.stored.consumer_group_target_assignment_member import (
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
)
from kafkalite.wire.messages.stored.consumer_group_target_assignment_metadata import (
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

FIRST_EPOCH = 1  # 0 is that of a member that joins; nothing has been assigned in this one

_STATES = {state.value: state for state in ConsumerMemberState}


class ConsumerGroupState(Enum):
    """The values are the names that ListGroups and ConsumerGroupDescribe answer with."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class MemberTimers:
    """The deadlines of a member: to be heard of, to give up partitions, and (in the classic
    protocol) to join again and to sync."""

    __slots__ = ("join", "revoke", "session", "sync")

    def __init__(self, expire: Callable[[], None]) -> None:
        self.session = Timer(expire)
        self.revoke = Timer(expire)
        self.join = Timer(expire)
        self.sync = Timer(expire)

    def cancel(self) -> None:
        for timer in (self.session, self.revoke, self.join, self.sync):
            timer.cancel()


class ConsumerGroup:
    """One group. `timers` and `is_metadata_stale` are not in the log."""

    group_type: Literal["consumer"] = "consumer"
    protocol_type = "consumer"

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assigned_at_ms = 0
        self.members: dict[str, ConsumerMember] = {}
        self.member_id_by_instance: dict[str, str] = {}
        self.targets: dict[str, Target] = {}
        self.expressions: dict[str, frozenset[str]] = {}
        """Regular expressions, and the topics they match."""
        self.timers: dict[str, MemberTimers] = {}
        self.is_metadata_stale = False
        """Topics have come, grown or gone since the hash was computed."""
        self._owners: dict[tuple[UUID, int], str] = {}
        self._subscribed_topics: frozenset[str] | None = None

    @property
    def state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(m.is_reconciled_to(self.assignment_epoch) for m in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    @property
    def is_empty(self) -> bool:
        return not self.members

    def depends_on(self, topics: Collection[str]) -> bool:
        """True if what becomes of these topics matters to it: expressions may match any."""
        return bool(self.expressions) or not self.subscribed_topics.isdisjoint(topics)

    # State from the records

    def apply(self, key: object, value: object | None) -> None:
        """Take in a record of this group."""
        match key, value:
            case ConsumerGroupMetadataKey(), ConsumerGroupMetadataValue():
                self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
            case ConsumerGroupMemberMetadataKey(), ConsumerGroupMemberMetadataValue():
                self._apply_member(key.member_id, value)
            case ConsumerGroupMemberMetadataKey(), None:
                self._remove_member(key.member_id)
            case (
                ConsumerGroupTargetAssignmentMetadataKey(),
                ConsumerGroupTargetAssignmentMetadataValue(),
            ):
                self.assignment_epoch = value.assignment_epoch
                self.assigned_at_ms = value.assignment_timestamp
            case (
                ConsumerGroupTargetAssignmentMemberKey(),
                ConsumerGroupTargetAssignmentMemberValue(),
            ):
                self.targets[key.member_id] = {
                    topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions
                }
            case ConsumerGroupTargetAssignmentMemberKey(), None:
                self.targets.pop(key.member_id, None)
            case ConsumerGroupCurrentMemberAssignmentKey(), _:
                assert value is None or isinstance(value, ConsumerGroupCurrentMemberAssignmentValue)
                self._apply_assignment(key.member_id, value)
            case ConsumerGroupRegularExpressionKey(), ConsumerGroupRegularExpressionValue():
                self.expressions[key.regular_expression] = frozenset(value.topics)
                self._subscribed_topics = None
            case ConsumerGroupRegularExpressionKey(), None:
                self.expressions.pop(key.regular_expression, None)
                self._subscribed_topics = None
            case _:
                pass  # tombstones of what the group as a whole is

    def _apply_member(self, member_id: str, value: ConsumerGroupMemberMetadataValue) -> None:
        old = self.members.get(member_id) or ConsumerMember(member_id=member_id)
        member = replace(
            old,
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
        self.members[member_id] = member
        if member.instance_id is not None:
            self.member_id_by_instance[member.instance_id] = member_id
        self._subscribed_topics = None

    def _remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is None:
            return
        self._release(member)
        self.targets.pop(member_id, None)
        if self.member_id_by_instance.get(member.instance_id or "") == member_id:
            del self.member_id_by_instance[member.instance_id or ""]
        self._subscribed_topics = None
        timers = self.timers.pop(member_id, None)
        if timers is not None:
            timers.cancel()

    def _apply_assignment(
        self, member_id: str, value: ConsumerGroupCurrentMemberAssignmentValue | None
    ) -> None:
        old = self.members.get(member_id) or ConsumerMember(member_id=member_id)
        self._release(old)
        if value is None:
            member = replace(
                old,
                member_epoch=LEAVE_EPOCH,
                previous_member_epoch=LEAVE_EPOCH,
                state=ConsumerMemberState.STABLE,
                assigned={},
                pending_revocation={},
            )
        else:
            epoch = value.member_epoch
            assigned_from = consumer_records.assigned_from
            member = replace(
                old,
                member_epoch=epoch,
                previous_member_epoch=value.previous_member_epoch,
                state=_STATES.get(value.state, ConsumerMemberState.UNKNOWN),
                assigned=assigned_from(value.assigned_partitions, epoch),
                pending_revocation=assigned_from(value.partitions_pending_revocation, epoch),
            )
            for partition in _partitions(member.assigned, member.pending_revocation):
                self._owners[partition] = member_id
        if member_id in self.members or value is not None:
            self.members[member_id] = member

    def _release(self, member: ConsumerMember) -> None:
        for partition in _partitions(member.assigned, member.pending_revocation):
            if self._owners.get(partition) == member.member_id:
                del self._owners[partition]

    # State that follows from it

    def is_free(self, topic_id: UUID, partition: int) -> bool:
        """True if no member has the partition, or has yet to give it up."""
        return (topic_id, partition) not in self._owners

    def is_waiting(self, member: ConsumerMember) -> bool:
        """True if something the member is to have is still with another."""
        return any(
            not member.has(topic_id, partition)
            and self._owners.get((topic_id, partition), member.member_id) != member.member_id
            for topic_id, partitions in self.targets.get(member.member_id, {}).items()
            for partition in partitions
        )

    def topics_of(self, member: ConsumerMember) -> frozenset[str]:
        """The topics it subscribes to by name, and those its expression matches."""
        matched = self.expressions.get(member.subscribed_topic_regex)
        names = member.subscribed_topic_names
        return names | matched if matched else names

    @property
    def subscribed_topics(self) -> frozenset[str]:
        if self._subscribed_topics is None:
            self._subscribed_topics = frozenset().union(*map(self.topics_of, self.members.values()))
        return self._subscribed_topics

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed_topics

    def preferred_assignor(self) -> str | None:
        """The assignor that most members name."""
        votes = Counter(m.server_assignor for m in self.members.values() if m.server_assignor)
        return votes.most_common(1)[0][0] if votes else None

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        member_id = self.member_id_by_instance.get(instance_id or "")
        return None if member_id is None else self.members[member_id]

    # Members that speak the classic protocol

    @property
    def classic_member_count(self) -> int:
        return sum(member.classic is not None for member in self.members.values())

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

    # Offsets

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        member_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> MayCommit | None:
        """KafkaError unless this caller may commit; what it may commit for, if not everything."""
        member = committing_member(
            self.members,
            member_id,
            group_instance_id,
            member_epoch,
            is_transactional=is_transactional,
        )
        if member is None:
            return None
        stale = check_commit_epoch(
            member,
            member_epoch,
            is_classic=member.classic is not None,
            is_transactional=is_transactional,
            api_version=api_version,
        )
        if stale is None:
            return None

        def may_commit(topic_id: UUID, partition: int) -> ErrorCode:
            since = member.assignment_epoch(topic_id, partition)
            return stale if since is None or member_epoch < since else ErrorCode.NONE

        return may_commit

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """KafkaError unless an administrator asks, or a member that is up to date."""
        stale = check_fetch(self.members, member_id, member_epoch)
        if stale is not None:
            raise KafkaError(
                ErrorCode.STALE_MEMBER_EPOCH
                if stale.classic is None
                else ErrorCode.ILLEGAL_GENERATION
            )

    def validate_offset_delete(self) -> None:
        """Never refused: what members subscribe to is known."""

    def validate_delete(self) -> None:
        if self.members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def offsets_expire_from(self, committed_at_ms: int) -> int | None:
        return committed_at_ms

    def tombstones(self) -> list[state_log.StateRecord]:
        """The records that end the group in the log."""
        changes = consumer_records.no_group(self.group_id, self.members, self.expressions)
        return [state_log.encoded(*change) for change in changes]


def _partitions(*assigned: Assigned) -> Iterable[tuple[UUID, int]]:
    return (
        (topic_id, partition)
        for topics in assigned
        for topic_id, partitions in topics.items()
        for partition in partitions
    )
