"""The records of a consumer group, from values and back. See modern_records.py for those that
other groups have, too.

    16  ConsumerGroupRegularExpression   the topics that a regular expression matched

Source: Kafka's GroupCoordinatorRecordHelpers.
"""

from collections.abc import Iterable
from uuid import UUID

from kafkalite.group_coordinator.assignors import Target
from kafkalite.group_coordinator.changes import Change
from kafkalite.group_coordinator.consumer_member import Assigned, ConsumerMember
from kafkalite.group_coordinator.modern_records import ModernRecords, listed
from kafkalite.wire.messages.stored.consumer_group_current_member_assignment import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    TopicPartitions,
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
    TopicPartition,
)
from kafkalite.wire.messages.stored.consumer_group_target_assignment_metadata import (
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

RECORDS = ModernRecords(
    group_type="consumer",
    group=ConsumerGroupMetadataKey,
    group_value=ConsumerGroupMetadataValue,
    member=ConsumerGroupMemberMetadataKey,
    target_epoch=ConsumerGroupTargetAssignmentMetadataKey,
    target_epoch_value=ConsumerGroupTargetAssignmentMetadataValue,
    target=ConsumerGroupTargetAssignmentMemberKey,
    current=ConsumerGroupCurrentMemberAssignmentKey,
)


def member(group_id: str, member: ConsumerMember) -> Change:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=member.classic,
    )
    return ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id), value


def target(group_id: str, member_id: str, target: Target) -> Change:
    value = ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=listed(TopicPartition, target)
    )
    return ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), value


def current_assignment(group_id: str, member: ConsumerMember) -> Change:
    return (
        ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=RECORDS.number_of(member.state),
            assigned_partitions=_with_epochs(member.assigned),
            partitions_pending_revocation=_with_epochs(member.pending_revocation),
        ),
    )


def regular_expression(
    group_id: str, expression: str, topics: Iterable[str], version: int, timestamp_ms: int
) -> Change:
    return (
        ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=expression),
        ConsumerGroupRegularExpressionValue(
            topics=sorted(topics), version=version, timestamp=timestamp_ms
        ),
    )


def no_regular_expression(group_id: str, expression: str) -> Change:
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=expression)
    return key, None


def _with_epochs(assigned: Assigned) -> list[TopicPartitions]:
    return [
        TopicPartitions(
            topic_id=topic_id,
            partitions=list(partitions),
            assignment_epochs=list(partitions.values()),
        )
        for topic_id, partitions in assigned.items()
    ]


def assigned_from(listed: Iterable[TopicPartitions], member_epoch: int) -> Assigned:
    """Partitions with epochs. Records before KIP-1251 have none: the member's counts."""
    found: dict[UUID, dict[int, int]] = {}
    for topic in listed:
        epochs = topic.assignment_epochs or [member_epoch] * len(topic.partitions)
        found[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return found
