"""ConsumerProtocolSubscription, versions 0-3.

What a member of a classic consumer group subscribes to: the metadata of its protocol in JoinGroup.

    1  partitions owned, for cooperative rebalancing (KIP-429)
    2  generation id (KIP-792)
    3  rack (KIP-881)
"""

from kafkalite.wire.fields import int32, nullable_bytes, nullable_string, string
from kafkalite.wire.schema import array, data, field, struct


@struct
class TopicPartition:
    topic: str = field(string)
    partitions: list[int] = array(int32)


@data(versions=(0, 3), flexible=None)
class ConsumerProtocolSubscription:
    topics: list[str] = array(string)
    user_data: bytes | None = field(nullable_bytes)
    owned_partitions: list[TopicPartition] = array(TopicPartition, since=1, ignorable=True)
    generation_id: int = field(int32, since=2, default=-1, ignorable=True)
    rack_id: str | None = field(nullable_string, since=3, ignorable=True)
