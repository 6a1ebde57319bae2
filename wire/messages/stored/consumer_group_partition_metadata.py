"""ConsumerGroupPartitionMetadata (record type 4 of __consumer_offsets), version 0,
flexible since 0.

Partitions of subscribed topics (KIP-848). Since Kafka 4.1 a hash in the group metadata does
(KIP-1101).
"""

from uuid import UUID

from kafkalite.wire.fields import int32, string, uuid
from kafkalite.wire.schema import array, field, record_key, record_value, struct


@record_key(4)
class ConsumerGroupPartitionMetadataKey:
    group_id: str = field(string)


@struct
class PartitionMetadata:
    partition: int = field(int32)
    racks: list[str] = array(string)


@struct
class TopicMetadata:
    topic_id: UUID = field(uuid)
    topic_name: str = field(string)
    num_partitions: int = field(int32)
    partition_metadata: list[PartitionMetadata] = array(PartitionMetadata)


@record_value(4, versions=(0, 0), flexible=0)
class ConsumerGroupPartitionMetadataValue:
    topics: list[TopicMetadata] = array(TopicMetadata)
