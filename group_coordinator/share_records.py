"""The records of a share group, from values and back (KIP-932). See modern_records.py for those
that other groups have, too.

    15  ShareGroupStatePartitionMetadata   topics whose share state is to begin, has begun, ends

Source: Kafka's GroupCoordinatorRecordHelpers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from kafkalite.group_coordinator.assignors import Target
from kafkalite.group_coordinator.changes import Change
from kafkalite.group_coordinator.modern_records import ModernRecords, listed
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


class StateTopic(NamedTuple):
    """Partitions of a topic whose share state is being, or has been, initialized. `since_ms` is
    when that was written or read back (wall clock); it is not in the log."""

    name: str
    partitions: frozenset[int]
    since_ms: int


StateTopics = Mapping[UUID, StateTopic]


RECORDS = ModernRecords(
    group_type="share",
    group=ShareGroupMetadataKey,
    group_value=ShareGroupMetadataValue,
    member=ShareGroupMemberMetadataKey,
    target_epoch=ShareGroupTargetAssignmentMetadataKey,
    target_epoch_value=ShareGroupTargetAssignmentMetadataValue,
    target=ShareGroupTargetAssignmentMemberKey,
    current=ShareGroupCurrentMemberAssignmentKey,
)

RECORDS.prepare(ShareGroupStatePartitionMetadataKey)  # with the import, in a thread


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


def target(group_id: str, member_id: str, target: Target) -> Change:
    value = ShareGroupTargetAssignmentMemberValue(topic_partitions=listed(TopicPartition, target))
    return ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value


def current_assignment(group_id: str, member: ShareMember) -> Change:
    return (
        ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        ShareGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=RECORDS.number_of(member.state),
            assigned_partitions=listed(TopicPartitions, member.assigned),
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
            initializing_topics=_noted(initializing),
            initialized_topics=_noted(initialized),
            deleting_topics=[
                TopicInfo(topic_id=topic_id, topic_name=name) for topic_id, name in deleting.items()
            ],
        ),
    )


def _noted(topics: StateTopics) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(
            topic_id=topic_id, topic_name=topic.name, partitions=sorted(topic.partitions)
        )
        for topic_id, topic in topics.items()
    ]
