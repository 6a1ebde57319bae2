"""ConsumerProtocolAssignment, versions 0-3.

What the leader of a classic consumer group assigns to a member, in SyncGroup. All versions are
alike.
"""

from kafkalite.wire.fields import int32, nullable_bytes, string
from kafkalite.wire.schema import array, data, field, struct


@struct
class TopicPartition:
    topic: str = field(string)
    partitions: list[int] = array(int32)


@data(versions=(0, 3), flexible=None)
class ConsumerProtocolAssignment:
    assigned_partitions: list[TopicPartition] = array(TopicPartition)
    user_data: bytes | None = field(nullable_bytes)
