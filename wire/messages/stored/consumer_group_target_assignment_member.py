"""ConsumerGroupTargetAssignmentMember (record type 7 of __consumer_offsets), version 0,
flexible since 0.

The target assignment of a member (KIP-848).
"""

from uuid import UUID

from kafkalite.wire.fields import int32, string, uuid
from kafkalite.wire.schema import array, field, record_key, record_value, struct


@record_key(7)
class ConsumerGroupTargetAssignmentMemberKey:
    group_id: str = field(string)
    member_id: str = field(string)


@struct
class TopicPartition:
    topic_id: UUID = field(uuid)
    partitions: list[int] = array(int32)


@record_value(7, versions=(0, 0), flexible=0)
class ConsumerGroupTargetAssignmentMemberValue:
    topic_partitions: list[TopicPartition] = array(TopicPartition)
