"""ListPartitionReassignments (key 46), version 0, flexible since 0.

Which moves of replicas are under way (KIP-455).
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, nullable_array, request, response, struct


@struct
class ListPartitionReassignmentsTopics:
    name: str = field(string)
    partition_indexes: list[int] = array(int32)


@request(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions=(0, 0), flexible=0)
class ListPartitionReassignmentsRequest:
    timeout_ms: int = field(int32, default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = nullable_array(
        ListPartitionReassignmentsTopics
    )


@struct
class OngoingPartitionReassignment:
    partition_index: int = field(int32)
    replicas: list[int] = array(int32)
    adding_replicas: list[int] = array(int32)
    removing_replicas: list[int] = array(int32)


@struct
class OngoingTopicReassignment:
    name: str = field(string)
    partitions: list[OngoingPartitionReassignment] = array(OngoingPartitionReassignment)


@response(ApiKey.LIST_PARTITION_REASSIGNMENTS, versions=(0, 0), flexible=0)
class ListPartitionReassignmentsResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
    topics: list[OngoingTopicReassignment] = array(OngoingTopicReassignment)
