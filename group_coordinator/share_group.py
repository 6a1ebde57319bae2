"""A share group (KIP-932): members, the partitions they fetch, topics whose state is kept.

Members need not give anything up before others get it, so a member has its target as soon as it
hears of it. Before a partition can be fetched, its share state must be initialized by the share
coordinator: the group remembers of which topics that is under way, done, or being undone.

    Empty   no members
    Stable  some

What a group is, is what its records in `__consumer_offsets` say: they are applied here when they
are read back and likewise when they are written. Source: Kafka's ShareGroup, ShareGroupMember.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Literal
from uuid import UUID

from kafkalite.group_coordinator import share_records, state_log
from kafkalite.group_coordinator.assignors import Target
from kafkalite.group_coordinator.consumer_member import LEAVE_EPOCH
from kafkalite.group_coordinator.share_records import StateTopic, StateTopics
from kafkalite.group_coordinator.timers import Timer
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.share_group_current_member_assignment import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
)
from kafkalite.wire.messages.stored.share_group_member_metadata import (
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
)
from kafkalite.wire.messages.stored.share_group_metadata import (
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
)
from kafkalite.wire.messages.stored.share_group_state_partition_metadata import (
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    TopicPartitionsInfo,
)
from kafkalite.wire.messages.stored.share_group_target_assignment_member import (
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
)
from kafkalite.wire.messages.stored.share_group_target_assignment_metadata import (
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)

FIRST_EPOCH = 1  # 0 is that of a member that joins; nothing has been assigned in this one


class ShareGroupState(Enum):
    """The values are the names that ListGroups and ShareGroupDescribe answer with."""

    EMPTY = "Empty"
    STABLE = "Stable"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareMember:
    """A value: what changes a member makes another."""

    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    member_epoch: int = 0
    previous_member_epoch: int = -1
    assigned: Target = field(default_factory=dict[UUID, frozenset[int]])


class SessionTimer:
    """The time in which a member must be heard of."""

    __slots__ = ("session",)

    def __init__(self, expire: Callable[[], None]) -> None:
        self.session = Timer(expire)

    def cancel(self) -> None:
        self.session.cancel()


class ShareGroup:
    """One group. `timers` and `is_metadata_stale` are not in the log."""

    group_type: Literal["share"] = "share"
    protocol_type = "share"

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assigned_at_ms = 0
        self.members: dict[str, ShareMember] = {}
        self.targets: dict[str, Target] = {}
        self.has_state_topics = False
        self.initializing: StateTopics = {}
        self.initialized: StateTopics = {}
        self.deleting: Mapping[UUID, str] = {}
        """Names of topics by id."""
        self.timers: dict[str, SessionTimer] = {}
        self.is_metadata_stale = True
        """Topics may have come, grown or gone since the hash was computed."""
        self.is_settled = False
        """The last heartbeat found nothing to do for the group, and nothing has changed."""

    @property
    def state(self) -> ShareGroupState:
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def subscribed_topics(self) -> frozenset[str]:
        return frozenset[str]().union(*(m.subscribed_topic_names for m in self.members.values()))

    def depends_on(self, topics: Collection[str]) -> bool:
        """True if it matters to the group what becomes of these topics."""
        return not self.subscribed_topics.isdisjoint(topics)

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

    def apply(self, key: object, value: object | None, now_ms: int = 0) -> None:
        """Take in a record of this group."""
        self.is_settled = False
        match key, value:
            case ShareGroupMetadataKey(), ShareGroupMetadataValue():
                self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
            case ShareGroupMemberMetadataKey(), ShareGroupMemberMetadataValue():
                self._apply_member(key.member_id, value)
            case ShareGroupMemberMetadataKey(), None:
                self._remove_member(key.member_id)
            case ShareGroupTargetAssignmentMetadataKey(), ShareGroupTargetAssignmentMetadataValue():
                self.assignment_epoch = value.assignment_epoch
                self.assigned_at_ms = value.assignment_timestamp
            case ShareGroupTargetAssignmentMemberKey(), ShareGroupTargetAssignmentMemberValue():
                self.targets[key.member_id] = {
                    topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions
                }
            case ShareGroupTargetAssignmentMemberKey(), None:
                self.targets.pop(key.member_id, None)
            case ShareGroupCurrentMemberAssignmentKey(), _:
                assert value is None or isinstance(value, ShareGroupCurrentMemberAssignmentValue)
                self._apply_assignment(key.member_id, value)
            case ShareGroupStatePartitionMetadataKey(), ShareGroupStatePartitionMetadataValue():
                self.has_state_topics = True
                self.initializing = _state_topics(value.initializing_topics, now_ms)
                self.initialized = _state_topics(value.initialized_topics, now_ms)
                self.deleting = {
                    topic.topic_id: topic.topic_name for topic in value.deleting_topics
                }
            case ShareGroupStatePartitionMetadataKey(), None:
                self.has_state_topics = False
                self.initializing, self.initialized, self.deleting = {}, {}, {}
            case _:
                pass  # tombstones of what the group as a whole is

    def _apply_member(self, member_id: str, value: ShareGroupMemberMetadataValue) -> None:
        old = self.members.get(member_id) or ShareMember(member_id=member_id)
        self.members[member_id] = replace(
            old,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            subscribed_topic_names=frozenset(value.subscribed_topic_names),
        )

    def _remove_member(self, member_id: str) -> None:
        self.members.pop(member_id, None)
        self.targets.pop(member_id, None)
        timers = self.timers.pop(member_id, None)
        if timers is not None:
            timers.cancel()

    def _apply_assignment(
        self, member_id: str, value: ShareGroupCurrentMemberAssignmentValue | None
    ) -> None:
        old = self.members.get(member_id)
        if value is not None:
            self.members[member_id] = replace(
                old or ShareMember(member_id=member_id),
                member_epoch=value.member_epoch,
                previous_member_epoch=value.previous_member_epoch,
                assigned={
                    topic.topic_id: frozenset(topic.partitions)
                    for topic in value.assigned_partitions
                },
            )
        elif old is not None:
            self.members[member_id] = replace(
                old, member_epoch=LEAVE_EPOCH, previous_member_epoch=LEAVE_EPOCH, assigned={}
            )

    # Offsets and administration. Share groups commit no offsets.

    def validate_offset_commit(self, *who: Any, **how: Any) -> None:
        raise self._not_a_consumer_group()

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Never refused: there are none, as of a group that is unknown."""

    def validate_offset_delete(self) -> None:
        raise self._not_a_consumer_group()

    def _not_a_consumer_group(self) -> KafkaError:
        return KafkaError(
            ErrorCode.GROUP_ID_NOT_FOUND, f"Group {self.group_id} is not a consumer group."
        )

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscribed_topics

    def validate_delete(self) -> None:
        if self.members:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def offsets_expire_from(self, committed_at_ms: int) -> int | None:
        """Never: it has none."""
        return None

    def tombstones(self) -> list[state_log.StateRecord]:
        """The records that end the group in the log."""
        changes = share_records.no_group(self.group_id, self.members)
        return [state_log.encoded(*change) for change in changes]


def _state_topics(listed: Iterable[TopicPartitionsInfo], now_ms: int) -> StateTopics:
    return {
        topic.topic_id: StateTopic(topic.topic_name, frozenset(topic.partitions), now_ms)
        for topic in listed
    }


def existing(group_id: str, group: object | None) -> ShareGroup:
    """The share group, or KafkaError(GROUP_ID_NOT_FOUND)."""
    if isinstance(group, ShareGroup):
        return group
    missing = f"Group {group_id} not found."
    raise KafkaError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        missing if group is None else f"Group {group_id} is not a share group.",
    )
