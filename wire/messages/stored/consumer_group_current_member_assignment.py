"""ConsumerGroupCurrentMemberAssignment (record type 8 of __consumer_offsets), version 0,
flexible since 0.

What a member has now, and what it has still to give back (KIP-848).
"""

from uuid import UUID

from kafkalite.wire.fields import int8, int32, string, uuid
from kafkalite.wire.schema import array, field, nullable_array, record_key, record_value, struct


@record_key(8)
class ConsumerGroupCurrentMemberAssignmentKey:
    group_id: str = field(string)
    member_id: str = field(string)


@struct
class TopicPartitions:
    topic_id: UUID = field(uuid)
    partitions: list[int] = array(int32)
    assignment_epochs: list[int] | None = nullable_array(int32, tag=0, default=[])


@record_value(8, versions=(0, 0), flexible=0)
class ConsumerGroupCurrentMemberAssignmentValue:
    member_epoch: int = field(int32)
    previous_member_epoch: int = field(int32)
    state: int = field(int8)
    assigned_partitions: list[TopicPartitions] = array(TopicPartitions)
    partitions_pending_revocation: list[TopicPartitions] = array(TopicPartitions)
