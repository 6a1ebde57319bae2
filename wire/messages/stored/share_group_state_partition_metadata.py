"""ShareGroupStatePartitionMetadata (record type 15 of __consumer_offsets), version 0,
flexible since 0.

Partitions that are being initialized, have been, or are being deleted (KIP-932).
"""

from uuid import UUID

from kafkalite.wire.fields import int32, string, uuid
from kafkalite.wire.schema import array, field, record_key, record_value, struct


@record_key(15)
class ShareGroupStatePartitionMetadataKey:
    group_id: str = field(string)


@struct
class TopicPartitionsInfo:
    topic_id: UUID = field(uuid)
    topic_name: str = field(string)
    partitions: list[int] = array(int32)


@struct
class TopicInfo:
    topic_id: UUID = field(uuid)
    topic_name: str = field(string)


@record_value(15, versions=(0, 0), flexible=0)
class ShareGroupStatePartitionMetadataValue:
    initializing_topics: list[TopicPartitionsInfo] = array(TopicPartitionsInfo)
    initialized_topics: list[TopicPartitionsInfo] = array(TopicPartitionsInfo)
    deleting_topics: list[TopicInfo] = array(TopicInfo)
