"""DeleteRecords (key 21), versions 0-2, flexible since 2.

Moves the log start offset of partitions forward (KIP-107); -1 means to the high watermark.

    1  answered first and throttled by the client afterwards (KIP-219)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, int64, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class DeleteRecordsPartition:
    partition_index: int = field(int32)
    offset: int = field(int64)


@struct
class DeleteRecordsTopic:
    name: str = field(string)
    partitions: list[DeleteRecordsPartition] = array(DeleteRecordsPartition)


@request(ApiKey.DELETE_RECORDS, versions=(0, 2), flexible=2)
class DeleteRecordsRequest:
    topics: list[DeleteRecordsTopic] = array(DeleteRecordsTopic)
    timeout_ms: int = field(int32)


@struct
class DeleteRecordsPartitionResult:
    partition_index: int = field(int32)
    low_watermark: int = field(int64)
    error_code: int = field(int16)


@struct
class DeleteRecordsTopicResult:
    name: str = field(string)
    partitions: list[DeleteRecordsPartitionResult] = array(DeleteRecordsPartitionResult)


@response(ApiKey.DELETE_RECORDS, versions=(0, 2), flexible=2)
class DeleteRecordsResponse:
    throttle_time_ms: int = field(int32)
    topics: list[DeleteRecordsTopicResult] = array(DeleteRecordsTopicResult)
