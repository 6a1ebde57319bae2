"""ShareGroupCurrentMemberAssignment (record type 14 of __consumer_offsets), version 0,
flexible since 0.

What a member has now (KIP-932).
"""

from uuid import UUID

from kafkalite.wire.fields import int8, int32, string, uuid
from kafkalite.wire.schema import array, field, record_key, record_value, struct


@record_key(14)
class ShareGroupCurrentMemberAssignmentKey:
    group_id: str = field(string)
    member_id: str = field(string)


@struct
class TopicPartitions:
    topic_id: UUID = field(uuid)
    partitions: list[int] = array(int32)


@record_value(14, versions=(0, 0), flexible=0)
class ShareGroupCurrentMemberAssignmentValue:
    member_epoch: int = field(int32)
    previous_member_epoch: int = field(int32)
    state: int = field(int8)
    assigned_partitions: list[TopicPartitions] = array(TopicPartitions)
