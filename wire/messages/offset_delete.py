"""OffsetDelete (key 47), version 0.

Forgets committed offsets of a group, topic by topic (KIP-496). Never flexible.
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class OffsetDeleteRequestPartition:
    partition_index: int = field(int32)


@struct
class OffsetDeleteRequestTopic:
    name: str = field(string)
    partitions: list[OffsetDeleteRequestPartition] = array(OffsetDeleteRequestPartition)


@request(ApiKey.OFFSET_DELETE, versions=(0, 0), flexible=None)
class OffsetDeleteRequest:
    group_id: str = field(string)
    topics: list[OffsetDeleteRequestTopic] = array(OffsetDeleteRequestTopic)


@struct
class OffsetDeleteResponsePartition:
    partition_index: int = field(int32)
    error_code: int = field(int16)


@struct
class OffsetDeleteResponseTopic:
    name: str = field(string)
    partitions: list[OffsetDeleteResponsePartition] = array(OffsetDeleteResponsePartition)


@response(ApiKey.OFFSET_DELETE, versions=(0, 0), flexible=None)
class OffsetDeleteResponse:
    error_code: int = field(int16)
    throttle_time_ms: int = field(int32)
    topics: list[OffsetDeleteResponseTopic] = array(OffsetDeleteResponseTopic)
