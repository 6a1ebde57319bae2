"""DescribeTopicPartitions (key 75), version 0, flexible since 0.

Topics partition by partition, in pages: a cursor says where to go on (KIP-966).
"""

from collections.abc import Sequence
from typing import TypeAlias
from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int16, int32, nullable_string, string, uuid
from kafkalite.wire.schema import (
    array,
    field,
    nullable_array,
    nullable_nested,
    request,
    response,
    struct,
)


@struct
class TopicRequest:
    name: str = field(string)


@struct
class Cursor:
    topic_name: str = field(string)
    partition_index: int = field(int32)


@request(ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0), flexible=0)
class DescribeTopicPartitionsRequest:
    topics: list[TopicRequest] = array(TopicRequest)
    response_partition_limit: int = field(int32, default=2000)
    cursor: Cursor | None = nullable_nested(Cursor)


@struct
class DescribeTopicPartitionsResponsePartition:
    error_code: int = field(int16)
    partition_index: int = field(int32)
    leader_id: int = field(int32)
    leader_epoch: int = field(int32, default=-1)
    replica_nodes: list[int] = array(int32)
    isr_nodes: list[int] = array(int32)
    eligible_leader_replicas: list[int] | None = nullable_array(int32)
    last_known_elr: list[int] | None = nullable_array(int32)
    offline_replicas: list[int] = array(int32)


@struct
class DescribeTopicPartitionsResponseTopic:
    has_kept_rows = True
    error_code: int = field(int16)
    name: str | None = field(nullable_string, default="")
    topic_id: UUID = field(uuid)
    is_internal: bool = field(boolean)
    partitions: list[DescribeTopicPartitionsResponsePartition] = array(
        DescribeTopicPartitionsResponsePartition
    )
    topic_authorized_operations: int = field(int32, default=-0x80000000)


@response(ApiKey.DESCRIBE_TOPIC_PARTITIONS, versions=(0, 0), flexible=0)
class DescribeTopicPartitionsResponse:
    throttle_time_ms: int = field(int32)
    topics: list[DescribeTopicPartitionsResponseTopic] = array(DescribeTopicPartitionsResponseTopic)
    next_cursor: Cursor | None = nullable_nested(Cursor)


TopicRequestRow: TypeAlias = tuple[str]
CursorRow: TypeAlias = tuple[str, int]
DescribeTopicPartitionsRequestRow: TypeAlias = tuple[list[TopicRequestRow], int, CursorRow | None]

DescribeTopicPartitionsResponsePartitionRow: TypeAlias = tuple[
    int,
    int,
    int,
    int,
    Sequence[int],
    Sequence[int],
    Sequence[int] | None,
    Sequence[int] | None,
    Sequence[int],
]
DescribeTopicPartitionsResponseTopicRow: TypeAlias = tuple[
    int, str | None, UUID, bool, Sequence[DescribeTopicPartitionsResponsePartitionRow], int
]
DescribeTopicPartitionsResponseRow: TypeAlias = tuple[
    int, Sequence[DescribeTopicPartitionsResponseTopicRow], CursorRow | None
]
