"""ConsumerGroupHeartbeat (key 68), versions 0-1, flexible since 0.

The one request of the consumer protocol (KIP-848): joins, says what has changed, takes the
assignment, leaves. Null means unchanged.

    1  subscription by regular expression; the member makes its id itself (KIP-1082)
"""

from collections.abc import Sequence
from typing import TypeAlias
from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, nullable_string, string, uuid
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
class TopicPartitions:
    topic_id: UUID = field(uuid)
    partitions: list[int] = array(int32)


@request(ApiKey.CONSUMER_GROUP_HEARTBEAT, versions=(0, 1), flexible=0)
class ConsumerGroupHeartbeatRequest:
    group_id: str = field(string)
    member_id: str = field(string)
    member_epoch: int = field(int32)
    instance_id: str | None = field(nullable_string)
    rack_id: str | None = field(nullable_string)
    rebalance_timeout_ms: int = field(int32, default=-1)
    subscribed_topic_names: list[str] | None = nullable_array(string)
    subscribed_topic_regex: str | None = field(nullable_string, since=1)
    server_assignor: str | None = field(nullable_string)
    topic_partitions: list[TopicPartitions] | None = nullable_array(TopicPartitions)


@struct
class Assignment:
    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


@response(ApiKey.CONSUMER_GROUP_HEARTBEAT, versions=(0, 1), flexible=0)
class ConsumerGroupHeartbeatResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    member_id: str | None = field(nullable_string)
    member_epoch: int = field(int32)
    heartbeat_interval_ms: int = field(int32)
    assignment: Assignment | None = nullable_nested(Assignment)


# The same as rows (wire/rows.py).
TopicPartitionsRow: TypeAlias = tuple[UUID, list[int]]
ConsumerGroupHeartbeatRequestRow: TypeAlias = tuple[
    str,
    str,
    int,
    str | None,
    str | None,
    int,
    list[str] | None,
    str | None,
    str | None,
    list[TopicPartitionsRow] | None,
]
AssignmentRow: TypeAlias = tuple[Sequence[TopicPartitionsRow]]
ConsumerGroupHeartbeatResponseRow: TypeAlias = tuple[
    int, int, str | None, str | None, int, int, AssignmentRow | None
]
