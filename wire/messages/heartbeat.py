"""Heartbeat (key 12), versions 0-4, flexible since 4.

A member of a classic group lives; the answer may be that the group rebalances.

    1  throttle time (KIP-124)
    2  answered first and throttled by the client afterwards (KIP-219)
    3  group instance id (KIP-345)
"""

from typing import TypeAlias

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, nullable_string, string
from kafkalite.wire.schema import field, request, response


@request(ApiKey.HEARTBEAT, versions=(0, 4), flexible=4)
class HeartbeatRequest:
    group_id: str = field(string)
    generation_id: int = field(int32)
    member_id: str = field(string)
    group_instance_id: str | None = field(nullable_string, since=3)


@response(ApiKey.HEARTBEAT, versions=(0, 4), flexible=4)
class HeartbeatResponse:
    throttle_time_ms: int = field(int32, since=1, ignorable=True)
    error_code: int = field(int16)


# The same as rows (wire/rows.py).
HeartbeatRequestRow: TypeAlias = tuple[str, int, str, str | None]
HeartbeatResponseRow: TypeAlias = tuple[int, int]
