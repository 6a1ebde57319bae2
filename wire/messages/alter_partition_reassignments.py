"""AlterPartitionReassignments (key 45), versions 0-1, flexible since 0.

Begins or cancels the move of replicas (KIP-455).

    1  a change of the replication factor can be forbidden (KIP-860)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, nullable_array, request, response, struct


@struct
class ReassignablePartition:
    partition_index: int = field(int32)
    replicas: list[int] | None = nullable_array(int32)


@struct
class ReassignableTopic:
    name: str = field(string)
    partitions: list[ReassignablePartition] = array(ReassignablePartition)


@request(ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions=(0, 1), flexible=0)
class AlterPartitionReassignmentsRequest:
    timeout_ms: int = field(int32, default=60000)
    allow_replication_factor_change: bool = field(boolean, since=1, default=True)
    topics: list[ReassignableTopic] = array(ReassignableTopic)


@struct
class ReassignablePartitionResponse:
    partition_index: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")


@struct
class ReassignableTopicResponse:
    name: str = field(string)
    partitions: list[ReassignablePartitionResponse] = array(ReassignablePartitionResponse)


@response(ApiKey.ALTER_PARTITION_REASSIGNMENTS, versions=(0, 1), flexible=0)
class AlterPartitionReassignmentsResponse:
    throttle_time_ms: int = field(int32)
    allow_replication_factor_change: bool = field(boolean, since=1, default=True, ignorable=True)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
    responses: list[ReassignableTopicResponse] = array(ReassignableTopicResponse)
