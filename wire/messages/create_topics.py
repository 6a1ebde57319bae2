"""CreateTopics (key 19), versions 2-7, flexible since 5.

Creates topics, by number of partitions or by the replicas of each.

    2  throttle time (KIP-124)
    3  answered first and throttled by the client afterwards (KIP-219)
    4  -1 for partitions and replication factor means the default of the broker (KIP-464)
    5  partitions, replication factor and configs of what was created (KIP-525)
    6  THROTTLING_QUOTA_EXCEEDED is possible (KIP-599)
    7  topic id in the response (KIP-516)
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int8, int16, int32, nullable_string, string, uuid
from kafkalite.wire.schema import array, field, nullable_array, request, response, struct


@struct
class CreatableReplicaAssignment:
    partition_index: int = field(int32)
    broker_ids: list[int] = array(int32)


@struct
class CreatableTopicConfig:
    name: str = field(string)
    value: str | None = field(nullable_string, default="")


@struct
class CreatableTopic:
    name: str = field(string)
    num_partitions: int = field(int32)
    replication_factor: int = field(int16)
    assignments: list[CreatableReplicaAssignment] = array(CreatableReplicaAssignment)
    configs: list[CreatableTopicConfig] = array(CreatableTopicConfig)


@request(ApiKey.CREATE_TOPICS, versions=(2, 7), flexible=5)
class CreateTopicsRequest:
    topics: list[CreatableTopic] = array(CreatableTopic)
    timeout_ms: int = field(int32, default=60000)
    validate_only: bool = field(boolean)


@struct
class CreatableTopicConfigs:
    name: str = field(string)
    value: str | None = field(nullable_string, default="")
    read_only: bool = field(boolean)
    config_source: int = field(int8, default=-1)
    is_sensitive: bool = field(boolean)


@struct
class CreatableTopicResult:
    name: str = field(string)
    topic_id: UUID = field(uuid, since=7, ignorable=True)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
    topic_config_error_code: int = field(int16, since=5, tag=0, ignorable=True)
    num_partitions: int = field(int32, since=5, default=-1, ignorable=True)
    replication_factor: int = field(int16, since=5, default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = nullable_array(
        CreatableTopicConfigs, since=5, default=[], ignorable=True
    )


@response(ApiKey.CREATE_TOPICS, versions=(2, 7), flexible=5)
class CreateTopicsResponse:
    throttle_time_ms: int = field(int32)
    topics: list[CreatableTopicResult] = array(CreatableTopicResult)
