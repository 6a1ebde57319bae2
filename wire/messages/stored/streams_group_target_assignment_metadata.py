"""StreamsGroupTargetAssignmentMetadata (record type 20 of __consumer_offsets), version 0,
flexible since 0.

The epoch at which targets were assigned (KIP-1071).
"""

from kafkalite.wire.fields import int32, int64, string
from kafkalite.wire.schema import field, record_key, record_value


@record_key(20)
class StreamsGroupTargetAssignmentMetadataKey:
    group_id: str = field(string)


@record_value(20, versions=(0, 0), flexible=0)
class StreamsGroupTargetAssignmentMetadataValue:
    assignment_epoch: int = field(int32)
    assignment_timestamp: int = field(int64, tag=0)
