"""SyncGroup (key 14), versions 0-5, flexible since 4.

The leader of a classic group brings the assignments, and every member gets its own.

    1  throttle time (KIP-124)
    2  answered first and throttled by the client afterwards (KIP-219)
    3  group instance id (KIP-345)
    5  protocol type and name, which must agree with the group (KIP-559)
"""

from typing import TypeAlias

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import bytes_, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class SyncGroupRequestAssignment:
    member_id: str = field(string)
    assignment: bytes = field(bytes_)


@request(ApiKey.SYNC_GROUP, versions=(0, 5), flexible=4)
class SyncGroupRequest:
    group_id: str = field(string)
    generation_id: int = field(int32)
    member_id: str = field(string)
    group_instance_id: str | None = field(nullable_string, since=3)
    protocol_type: str | None = field(nullable_string, since=5, ignorable=True)
    protocol_name: str | None = field(nullable_string, since=5, ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = array(SyncGroupRequestAssignment)


@response(ApiKey.SYNC_GROUP, versions=(0, 5), flexible=4)
class SyncGroupResponse:
    throttle_time_ms: int = field(int32, since=1, ignorable=True)
    error_code: int = field(int16)
    protocol_type: str | None = field(nullable_string, since=5, ignorable=True)
    protocol_name: str | None = field(nullable_string, since=5, ignorable=True)
    assignment: bytes = field(bytes_)


# The same as rows (wire/rows.py).
SyncGroupRequestAssignmentRow: TypeAlias = tuple[str, bytes]
SyncGroupRequestRow: TypeAlias = tuple[
    str, int, str, str | None, str | None, str | None, list[SyncGroupRequestAssignmentRow]
]
SyncGroupResponseRow: TypeAlias = tuple[int, int, str | None, str | None, bytes]
