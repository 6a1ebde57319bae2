"""ShareGroupHeartbeat (key 76), version 1, flexible since 1.

Membership in a share group (KIP-932). Version 0 was an early access and is gone.
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


@request(ApiKey.SHARE_GROUP_HEARTBEAT, versions=(1, 1), flexible=1)
class ShareGroupHeartbeatRequest:
    group_id: str = field(string)
    member_id: str = field(string)
    member_epoch: int = field(int32)
    rack_id: str | None = field(nullable_string)
    subscribed_topic_names: list[str] | None = nullable_array(string)


@struct
class TopicPartitions:
    topic_id: UUID = field(uuid)
    partitions: list[int] = array(int32)


@struct
class Assignment:
    topic_partitions: list[TopicPartitions] = array(TopicPartitions)


@response(ApiKey.SHARE_GROUP_HEARTBEAT, versions=(1, 1), flexible=1)
class ShareGroupHeartbeatResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string)
    member_id: str | None = field(nullable_string)
    member_epoch: int = field(int32)
    heartbeat_interval_ms: int = field(int32)
    assignment: Assignment | None = nullable_nested(Assignment)


# The same as rows (wire/rows.py).
ShareGroupHeartbeatRequestRow: TypeAlias = tuple[str, str, int, str | None, list[str] | None]
TopicPartitionsRow: TypeAlias = tuple[UUID, Sequence[int]]
AssignmentRow: TypeAlias = tuple[Sequence[TopicPartitionsRow]]
ShareGroupHeartbeatResponseRow: TypeAlias = tuple[
    int, int, str | None, str | None, int, int, AssignmentRow | None
]
