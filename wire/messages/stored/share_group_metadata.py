"""ShareGroupMetadata (record type 11 of __consumer_offsets), version 0, flexible since 0.

The epoch of a share group (KIP-932).
"""

from kafkalite.wire.fields import int32, int64, string
from kafkalite.wire.schema import field, record_key, record_value


@record_key(11)
class ShareGroupMetadataKey:
    group_id: str = field(string)


@record_value(11, versions=(0, 0), flexible=0)
class ShareGroupMetadataValue:
    epoch: int = field(int32)
    metadata_hash: int = field(int64)
