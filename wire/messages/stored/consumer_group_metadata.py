"""ConsumerGroupMetadata (record type 3 of __consumer_offsets), version 0, flexible since 0.

The epoch of a consumer group (KIP-848).
"""

from kafkalite.wire.fields import int32, int64, string
from kafkalite.wire.schema import field, record_key, record_value


@record_key(3)
class ConsumerGroupMetadataKey:
    group_id: str = field(string)


@record_value(3, versions=(0, 0), flexible=0)
class ConsumerGroupMetadataValue:
    epoch: int = field(int32)
    metadata_hash: int = field(int64, tag=0)
