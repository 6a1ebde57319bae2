"""Records of a share group in `__consumer_offsets`: a key and a value for every change (KIP-932).

Source: Kafka's GroupCoordinatorRecordHelpers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from kafkalite.group_coordinator.assignors import Target
from kafkalite.group_coordinator.changes import Change
from kafkalite.wire.messages.stored.share_group_current_member_assignment import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    TopicPartitions,
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
    TopicInfo,
    TopicPartitionsInfo,
)
from kafkalite.wire.messages.stored.share_group_target_assignment_member import (
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from kafkalite.wire.messages.stored.share_group_target_assignment_metadata import (
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)

if TYPE_CHECKING:
    from kafkalite.group_coordinator.share_group import ShareMember

STABLE = 0  # Kafka's MemberState of a member that has nothing to give up: all of a share group


class StateTopic(NamedTuple):
    """Partitions of a topic whose share state is being, or has been, initialized. `since_ms` is
    when that was written or read back (wall clock); it is not in the log."""

    name: str
    partitions: frozenset[int]
    since_ms: int


StateTopics = Mapping[UUID, StateTopic]


def member(group_id: str, member: ShareMember) -> Change:
    return (
        ShareGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        ShareGroupMemberMetadataValue(
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscribed_topic_names),
        ),
    )


def group(group_id: str, epoch: int, metadata_hash: int) -> Change:
    return (
        ShareGroupMetadataKey(group_id=group_id),
        ShareGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def assignment_epoch(group_id: str, epoch: int, timestamp_ms: int) -> Change:
    return (
        ShareGroupTargetAssignmentMetadataKey(group_id=group_id),
        ShareGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=timestamp_ms
        ),
    )


def target(group_id: str, member_id: str, target: Target) -> Change:
    return (
        ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        ShareGroupTargetAssignmentMemberValue(
            topic_partitions=[
                TopicPartition(topic_id=topic_id, partitions=sorted(partitions))
                for topic_id, partitions in target.items()
            ]
        ),
    )


def current_assignment(group_id: str, member: ShareMember) -> Change:
    return (
        ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        ShareGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=STABLE,
            assigned_partitions=[
                TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                for topic_id, partitions in member.assigned.items()
            ],
        ),
    )


def state_topics(
    group_id: str,
    initializing: StateTopics,
    initialized: StateTopics,
    deleting: Mapping[UUID, str],
) -> Change:
    """`deleting` are topics' names by their ids."""
    return (
        ShareGroupStatePartitionMetadataKey(group_id=group_id),
        ShareGroupStatePartitionMetadataValue(
            initializing_topics=_listed(initializing),
            initialized_topics=_listed(initialized),
            deleting_topics=[
                TopicInfo(topic_id=topic_id, topic_name=name) for topic_id, name in deleting.items()
            ],
        ),
    )


def _listed(topics: StateTopics) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(
            topic_id=topic_id, topic_name=topic.name, partitions=sorted(topic.partitions)
        )
        for topic_id, topic in topics.items()
    ]


def no_member(group_id: str, member_id: str) -> list[Change]:
    """The records that end a member, the last first."""
    return [
        (ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        (ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        (ShareGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def no_group(group_id: str, member_ids: Iterable[str]) -> list[Change]:
    """The records that end a group with all that is in it."""
    changes = [change for member_id in member_ids for change in no_member(group_id, member_id)]
    changes.append((ShareGroupTargetAssignmentMetadataKey(group_id=group_id), None))
    changes.append((ShareGroupStatePartitionMetadataKey(group_id=group_id), None))
    changes.append((ShareGroupMetadataKey(group_id=group_id), None))
    return changes
