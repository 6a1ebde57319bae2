"""DescribeLogDirs (key 35), versions 1-5, flexible since 2.

Log directories of a broker, and how much lies in them (KIP-113).

    1  answered first and throttled by the client afterwards (KIP-219)
    3  an error of the whole (KIP-784)
    4  total and usable bytes of the volume (KIP-827)
    5  is_cordoned (KIP-1066)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int16, int32, int64, string
from kafkalite.wire.schema import array, field, nullable_array, request, response, struct


@struct
class DescribableLogDirTopic:
    topic: str = field(string)
    partitions: list[int] = array(int32)


@request(ApiKey.DESCRIBE_LOG_DIRS, versions=(1, 5), flexible=2)
class DescribeLogDirsRequest:
    topics: list[DescribableLogDirTopic] | None = nullable_array(DescribableLogDirTopic, default=[])


@struct
class DescribeLogDirsPartition:
    partition_index: int = field(int32)
    partition_size: int = field(int64)
    offset_lag: int = field(int64)
    is_future_key: bool = field(boolean)


@struct
class DescribeLogDirsTopic:
    name: str = field(string)
    partitions: list[DescribeLogDirsPartition] = array(DescribeLogDirsPartition)


@struct
class DescribeLogDirsResult:
    error_code: int = field(int16)
    log_dir: str = field(string)
    topics: list[DescribeLogDirsTopic] = array(DescribeLogDirsTopic)
    total_bytes: int = field(int64, since=4, default=-1, ignorable=True)
    usable_bytes: int = field(int64, since=4, default=-1, ignorable=True)
    is_cordoned: bool = field(boolean, since=5, ignorable=True)


@response(ApiKey.DESCRIBE_LOG_DIRS, versions=(1, 5), flexible=2)
class DescribeLogDirsResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16, since=3, ignorable=True)
    results: list[DescribeLogDirsResult] = array(DescribeLogDirsResult)
