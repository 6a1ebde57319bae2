"""A share group (KIP-932): members, the partitions they fetch, topics whose state is kept.

Members need not give anything up before others get it, so a member has its target as soon as it
hears of it. Before a partition can be fetched, its share state must be initialized by the share
coordinator: the group remembers of which topics that is under way, done, or being undone. The group
is Stable whenever it has members. Its epochs and records are those of modern_group.py.
Source: Kafka's ShareGroup, ShareGroupMember.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Literal
from uuid import UUID

from msgspec import field
from msgspec.structs import replace

from kafkalite.group_coordinator import share_records
from kafkalite.group_coordinator.assignors import Target
from kafkalite.group_coordinator.changes import Change
from kafkalite.group_coordinator.heartbeat_checks import group_not_found
from kafkalite.group_coordinator.modern_group import ModernGroup, ModernGroupState
from kafkalite.group_coordinator.modern_member import ModernMember
from kafkalite.group_coordinator.share_records import StateTopic, StateTopics
from kafkalite.group_coordinator.subscriptions import union_of
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.stored.share_group_current_member_assignment import (
    ShareGroupCurrentMemberAssignmentValue,
)
from kafkalite.wire.messages.stored.share_group_member_metadata import ShareGroupMemberMetadataValue
from kafkalite.wire.messages.stored.share_group_state_partition_metadata import (
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    TopicPartitionsInfo,
)
from kafkalite.wire.messages.stored.share_group_target_assignment_member import (
    ShareGroupTargetAssignmentMemberValue,
)


class ShareMember(ModernMember, frozen=True, kw_only=True):
    """A member of a share group, which has the partitions in `assigned`."""

    subscribed_topic_names: frozenset[str] = frozenset()
    assigned: Target = field(default_factory=dict[UUID, frozenset[int]])


class ShareGroup(ModernGroup[ShareMember, Target]):
    """One group. `timers`, `is_metadata_stale` and `is_settled` are not in the log."""

    group_type: Literal["share"] = "share"
    protocol_type = "share"
    records = share_records.RECORDS

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.has_state_topics = False
        self.initializing: StateTopics = {}
        self.initialized: StateTopics = {}
        self.deleting: Mapping[UUID, str] = {}
        """Names of topics by id."""
        self.is_settled = False
        """The last heartbeat found nothing to do for the group, and nothing has changed."""

    @property
    def state(self) -> ModernGroupState:
        return ModernGroupState.STABLE if self.members else ModernGroupState.EMPTY

    def topics_of(self, member: ShareMember) -> frozenset[str]:
        return member.subscribed_topic_names

    @property
    def subscribed_topics(self) -> frozenset[str]:
        return union_of(map(self.topics_of, self.members.values()))

    def depends_on(self, topics: Collection[str]) -> bool:
        return not self.subscribed_topics.isdisjoint(topics)

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed_topics

    def is_ready(self, topic_id: UUID, partition: int) -> bool:
        """True if the partition has a share state, so that it may be fetched."""
        topic = self.initialized.get(topic_id)
        return topic is not None and partition in topic.partitions

    def has_unassigned_state(self) -> bool:
        """True if a partition that is subscribed to is initialized, but has no member yet."""
        subscribed = self.subscribed_topics
        given: dict[UUID, set[int]] = {}
        for target in self.targets.values():
            for topic_id, partitions in target.items():
                given.setdefault(topic_id, set()).update(partitions)
        return any(
            topic.name in subscribed and bool(given.get(topic_id, set()) ^ topic.partitions)
            for topic_id, topic in self.initialized.items()
        )

    # State from the records

    def apply(self, key: Any, value: Any, now_ms: int = 0) -> None:
        self.is_settled = False
        super().apply(key, value, now_ms)

    def new_member(self, member_id: str) -> ShareMember:
        return ShareMember(member_id=member_id)

    def _with_metadata(
        self, member: ShareMember, value: ShareGroupMemberMetadataValue
    ) -> ShareMember:
        return replace(
            member,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            subscribed_topic_names=frozenset(value.subscribed_topic_names),
        )

    def _target_from(self, value: ShareGroupTargetAssignmentMemberValue) -> Target:
        return {topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions}

    def _with_assignment(
        self, member: ShareMember, value: ShareGroupCurrentMemberAssignmentValue
    ) -> ShareMember:
        return replace(
            member,
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            assigned={
                topic.topic_id: frozenset(topic.partitions) for topic in value.assigned_partitions
            },
        )

    def _without_assignment(self, member: ShareMember) -> ShareMember:
        return replace(super()._without_assignment(member), assigned={})

    def _apply_further(
        self, key: object, value: ShareGroupStatePartitionMetadataValue | None, now_ms: int
    ) -> None:
        self.has_state_topics = value is not None
        value = value or ShareGroupStatePartitionMetadataValue()
        self.initializing = _state_topics(value.initializing_topics, now_ms)
        self.initialized = _state_topics(value.initialized_topics, now_ms)
        self.deleting = {topic.topic_id: topic.topic_name for topic in value.deleting_topics}

    def _further_tombstones(self) -> Iterable[Change]:
        return [(ShareGroupStatePartitionMetadataKey(group_id=self.group_id), None)]

    # Share groups commit no offsets

    def validate_offset_commit(self, *who: Any, **how: Any) -> None:
        raise self._not_a_consumer_group()

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Never refused: there are none, as of a group that is unknown."""

    def validate_offset_delete(self) -> None:
        raise self._not_a_consumer_group()

    def _not_a_consumer_group(self) -> KafkaError:
        return group_not_found("consumer", self.group_id, self)

    def assigned_since(self, member: ShareMember, topic_id: UUID, partition: int) -> int | None:
        """Never: nothing is committed for it."""
        return None

    def offsets_expire_from(self, committed_at_ms: int) -> int | None:
        """Never: it has none."""
        return None


def _state_topics(listed: Iterable[TopicPartitionsInfo], now_ms: int) -> StateTopics:
    return {
        topic.topic_id: StateTopic(topic.topic_name, frozenset(topic.partitions), now_ms)
        for topic in listed
    }
