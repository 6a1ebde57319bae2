"""StreamsGroupDescribe (key 89), version 0, flexible since 0.

Members of Kafka Streams groups, topology and tasks (KIP-1071).
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int16, int32, int64, nullable_string, string, uint16
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


@request(ApiKey.STREAMS_GROUP_DESCRIBE, versions=(0, 0), flexible=0)
class StreamsGroupDescribeRequest:
    group_ids: list[str] = array(string)
    include_authorized_operations: bool = field(boolean)


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
class Subtopology:
    subtopology_id: str = field(string)
    source_topics: list[str] = array(string)
    repartition_sink_topics: list[str] = array(string)
    state_changelog_topics: list[TopicInfo] = array(TopicInfo)
    repartition_source_topics: list[TopicInfo] = array(TopicInfo)


@struct
class Topology:
    epoch: int = field(int32)
    subtopologies: list[Subtopology] | None = nullable_array(Subtopology)


@struct
class Endpoint:
    host: str = field(string)
    port: int = field(uint16)


@struct
class TaskOffset:
    subtopology_id: str = field(string)
    partition: int = field(int32)
    offset: int = field(int64)


@struct
class TaskIds:
    subtopology_id: str = field(string)
    partitions: list[int] = array(int32)


@struct
class Assignment:
    active_tasks: list[TaskIds] = array(TaskIds)
    standby_tasks: list[TaskIds] = array(TaskIds)
    warmup_tasks: list[TaskIds] = array(TaskIds)


@struct
class Member:
    member_id: str = field(string)
    member_epoch: int = field(int32)
    instance_id: str | None = field(nullable_string)
    rack_id: str | None = field(nullable_string)
    client_id: str = field(string)
    client_host: str = field(string)
    topology_epoch: int = field(int32)
    process_id: str = field(string)
    user_endpoint: Endpoint | None = nullable_nested(Endpoint)
    client_tags: list[KeyValue] = array(KeyValue)
    task_offsets: list[TaskOffset] = array(TaskOffset)
    task_end_offsets: list[TaskOffset] = array(TaskOffset)
    assignment: Assignment = nested(Assignment)
    target_assignment: Assignment = nested(Assignment)
    is_classic: bool = field(boolean)


@struct
class DescribedGroup:
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    group_id: str = field(string)
    group_state: str = field(string)
    group_epoch: int = field(int32)
    assignment_epoch: int = field(int32)
    topology: Topology | None = nullable_nested(Topology)
    members: list[Member] = array(Member)
    authorized_operations: int = field(int32, default=-0x80000000)


@response(ApiKey.STREAMS_GROUP_DESCRIBE, versions=(0, 0), flexible=0)
class StreamsGroupDescribeResponse:
    throttle_time_ms: int = field(int32)
    groups: list[DescribedGroup] = array(DescribedGroup)
