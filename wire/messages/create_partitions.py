"""CreatePartitions (key 37), versions 0-3, flexible since 2.

Makes a topic have more partitions (KIP-195).

    1  answered first and throttled by the client afterwards (KIP-219)
    3  THROTTLING_QUOTA_EXCEEDED is possible (KIP-599)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, nullable_array, request, response, struct


@struct
class CreatePartitionsAssignment:
    broker_ids: list[int] = array(int32)


@struct
class CreatePartitionsTopic:
    name: str = field(string)
    count: int = field(int32)
    assignments: list[CreatePartitionsAssignment] | None = nullable_array(
        CreatePartitionsAssignment, default=[]
    )


@request(ApiKey.CREATE_PARTITIONS, versions=(0, 3), flexible=2)
class CreatePartitionsRequest:
    topics: list[CreatePartitionsTopic] = array(CreatePartitionsTopic)
    timeout_ms: int = field(int32)
    validate_only: bool = field(boolean)


@struct
class CreatePartitionsTopicResult:
    name: str = field(string)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)


@response(ApiKey.CREATE_PARTITIONS, versions=(0, 3), flexible=2)
class CreatePartitionsResponse:
    throttle_time_ms: int = field(int32)
    results: list[CreatePartitionsTopicResult] = array(CreatePartitionsTopicResult)
