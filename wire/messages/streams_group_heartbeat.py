"""StreamsGroupHeartbeat (key 88), version 0, flexible since 0.

Membership in a Kafka Streams group: topology, tasks, endpoints (KIP-1071). Status codes in the
response: 0 stale topology, 1 missing source topics, 2 incorrectly partitioned topics, 3 missing
internal topics, 4 shutdown of the application, 5 assignment delayed.
"""

from collections.abc import Sequence
from typing import TypeAlias

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import (
    boolean,
    int8,
    int16,
    int32,
    int64,
    nullable_string,
    string,
    uint16,
)
from kafkalite.wire.schema import (
    array,
    field,
    nested,
    nullable_array,
    nullable_nested,
    request,
    response,
    struct,
)


@struct
class KeyValue:
    key: str = field(string)
    value: str = field(string)


@struct
class TopicInfo:
    name: str = field(string)
    partitions: int = field(int32)
    replication_factor: int = field(int16)
    topic_configs: list[KeyValue] = array(KeyValue)


@struct
class CopartitionGroup:
    source_topics: list[int] = array(int16)
    source_topic_regex: list[int] = array(int16)
    repartition_source_topics: list[int] = array(int16)


@struct
class Subtopology:
    subtopology_id: str = field(string)
    source_topics: list[str] = array(string)
    source_topic_regex: list[str] = array(string)
    state_changelog_topics: list[TopicInfo] = array(TopicInfo)
    repartition_sink_topics: list[str] = array(string)
    repartition_source_topics: list[TopicInfo] = array(TopicInfo)
    copartition_groups: list[CopartitionGroup] = array(CopartitionGroup)


@struct
class Topology:
    epoch: int = field(int32)
    subtopologies: list[Subtopology] = array(Subtopology)


@struct
class TaskIds:
    subtopology_id: str = field(string)
    partitions: list[int] = array(int32)


@struct
class Endpoint:
    host: str = field(string)
    port: int = field(uint16)


@struct
class TaskOffset:
    subtopology_id: str = field(string)
    partition: int = field(int32)
    offset: int = field(int64)


@request(ApiKey.STREAMS_GROUP_HEARTBEAT, versions=(0, 0), flexible=0)
class StreamsGroupHeartbeatRequest:
    group_id: str = field(string)
    member_id: str = field(string)
    member_epoch: int = field(int32)
    endpoint_information_epoch: int = field(int32)
    instance_id: str | None = field(nullable_string)
    rack_id: str | None = field(nullable_string)
    rebalance_timeout_ms: int = field(int32, default=-1)
    topology: Topology | None = nullable_nested(Topology)
    active_tasks: list[TaskIds] | None = nullable_array(TaskIds)
    standby_tasks: list[TaskIds] | None = nullable_array(TaskIds)
    warmup_tasks: list[TaskIds] | None = nullable_array(TaskIds)
    process_id: str | None = field(nullable_string)
    user_endpoint: Endpoint | None = nullable_nested(Endpoint)
    client_tags: list[KeyValue] | None = nullable_array(KeyValue)
    task_offsets: list[TaskOffset] | None = nullable_array(TaskOffset)
    task_end_offsets: list[TaskOffset] | None = nullable_array(TaskOffset)
    shutdown_application: bool = field(boolean)


@struct
class Status:
    status_code: int = field(int8)
    status_detail: str = field(string)


@struct
class TopicPartition:
    topic: str = field(string)
    partitions: list[int] = array(int32)


@struct
class EndpointToPartitions:
    user_endpoint: Endpoint = nested(Endpoint)
    active_partitions: list[TopicPartition] = array(TopicPartition)
    standby_partitions: list[TopicPartition] = array(TopicPartition)


@response(ApiKey.STREAMS_GROUP_HEARTBEAT, versions=(0, 0), flexible=0)
class StreamsGroupHeartbeatResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    member_id: str = field(string)
    member_epoch: int = field(int32)
    heartbeat_interval_ms: int = field(int32)
    acceptable_recovery_lag: int = field(int32)
    task_offset_interval_ms: int = field(int32)
    status: list[Status] | None = nullable_array(Status, default=[])
    active_tasks: list[TaskIds] | None = nullable_array(TaskIds)
    standby_tasks: list[TaskIds] | None = nullable_array(TaskIds)
    warmup_tasks: list[TaskIds] | None = nullable_array(TaskIds)
    endpoint_information_epoch: int = field(int32)
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = nullable_array(
        EndpointToPartitions
    )


# The same as rows (wire/rows.py).
KeyValueRow: TypeAlias = tuple[str, str]
TopicInfoRow: TypeAlias = tuple[str, int, int, list[KeyValueRow]]
CopartitionGroupRow: TypeAlias = tuple[list[int], list[int], list[int]]
SubtopologyRow: TypeAlias = tuple[
    str,
    list[str],
    list[str],
    list[TopicInfoRow],
    list[str],
    list[TopicInfoRow],
    list[CopartitionGroupRow],
]
TopologyRow: TypeAlias = tuple[int, list[SubtopologyRow]]
TaskIdsRow: TypeAlias = tuple[str, list[int]]
EndpointRow: TypeAlias = tuple[str, int]
TaskOffsetRow: TypeAlias = tuple[str, int, int]
StreamsGroupHeartbeatRequestRow: TypeAlias = tuple[
    str,
    str,
    int,
    int,
    str | None,
    str | None,
    int,
    TopologyRow | None,
    list[TaskIdsRow] | None,
    list[TaskIdsRow] | None,
    list[TaskIdsRow] | None,
    str | None,
    EndpointRow | None,
    list[KeyValueRow] | None,
    list[TaskOffsetRow] | None,
    list[TaskOffsetRow] | None,
    bool,
]
StatusRow: TypeAlias = tuple[int, str]
TopicPartitionRow: TypeAlias = tuple[str, Sequence[int]]
EndpointToPartitionsRow: TypeAlias = tuple[
    EndpointRow, Sequence[TopicPartitionRow], Sequence[TopicPartitionRow]
]
StreamsGroupHeartbeatResponseRow: TypeAlias = tuple[
    int,
    int,
    str | None,
    str,
    int,
    int,
    int,
    int,
    Sequence[StatusRow] | None,
    Sequence[TaskIdsRow] | None,
    Sequence[TaskIdsRow] | None,
    Sequence[TaskIdsRow] | None,
    int,
    Sequence[EndpointToPartitionsRow] | None,
]
