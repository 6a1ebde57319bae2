"""DescribeShareGroupOffsets (key 90), versions 0-1, flexible since 0.

Start offsets of share groups (KIP-932).

    1  lag (KIP-1226)
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, nullable_array, request, response, struct


@struct
class DescribeShareGroupOffsetsRequestTopic:
    topic_name: str = field(string)
    partitions: list[int] = array(int32)


@struct
class DescribeShareGroupOffsetsRequestGroup:
    group_id: str = field(string)
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = nullable_array(
        DescribeShareGroupOffsetsRequestTopic, default=[]
    )


@request(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions=(0, 1), flexible=0)
class DescribeShareGroupOffsetsRequest:
    groups: list[DescribeShareGroupOffsetsRequestGroup] = array(
        DescribeShareGroupOffsetsRequestGroup
    )


@struct
class DescribeShareGroupOffsetsResponsePartition:
    partition_index: int = field(int32)
    start_offset: int = field(int64)
    leader_epoch: int = field(int32)
    lag: int = field(int64, since=1, default=-1, ignorable=True)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)


@struct
class DescribeShareGroupOffsetsResponseTopic:
    topic_name: str = field(string)
    topic_id: UUID = field(uuid)
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = array(
        DescribeShareGroupOffsetsResponsePartition
    )


@struct
class DescribeShareGroupOffsetsResponseGroup:
    group_id: str = field(string)
    topics: list[DescribeShareGroupOffsetsResponseTopic] = array(
        DescribeShareGroupOffsetsResponseTopic
    )
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)


@response(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, versions=(0, 1), flexible=0)
class DescribeShareGroupOffsetsResponse:
    throttle_time_ms: int = field(int32)
    groups: list[DescribeShareGroupOffsetsResponseGroup] = array(
        DescribeShareGroupOffsetsResponseGroup
    )
