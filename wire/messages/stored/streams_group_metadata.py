"""StreamsGroupMetadata (record type 17 of __consumer_offsets), version 0, flexible since 0.

The epoch of a streams group (KIP-1071).
"""

from kafkalite.wire.fields import int32, int64, string
from kafkalite.wire.schema import field, nullable_array, record_key, record_value, struct


@record_key(17)
class StreamsGroupMetadataKey:
    group_id: str = field(string)


@struct
class LastAssignmentConfig:
    key: str = field(string)
    value: str = field(string)


@record_value(17, versions=(0, 0), flexible=0)
class StreamsGroupMetadataValue:
    epoch: int = field(int32)
    metadata_hash: int = field(int64)
    validated_topology_epoch: int = field(int32, tag=0, default=-1)
    last_assignment_configs: list[LastAssignmentConfig] | None = nullable_array(
        LastAssignmentConfig, tag=1, default=[]
    )
