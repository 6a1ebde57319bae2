"""JoinGroup (key 11), versions 0-9, flexible since 6.

Joins a classic group, and is answered when all members have (or time is up); the leader is told
them all.

    1  rebalance timeout; without it (-1) the session timeout counts (KIP-62)
    2  throttle time (KIP-124)
    3  answered first and throttled by the client afterwards (KIP-219)
    4  MEMBER_ID_REQUIRED: join again with the id given (KIP-394)
    5  group instance id (KIP-345)
    7  protocol type in the response, whose name may be null (KIP-559)
    8  reason (KIP-800)
    9  the leader may be told to skip the assignment (KIP-814)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, bytes_, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class JoinGroupRequestProtocol:
    name: str = field(string)
    metadata: bytes = field(bytes_)


@request(ApiKey.JOIN_GROUP, versions=(0, 9), flexible=6)
class JoinGroupRequest:
    group_id: str = field(string)
    session_timeout_ms: int = field(int32)
    rebalance_timeout_ms: int = field(int32, since=1, default=-1, ignorable=True)
    member_id: str = field(string)
    group_instance_id: str | None = field(nullable_string, since=5)
    protocol_type: str = field(string)
    protocols: list[JoinGroupRequestProtocol] = array(JoinGroupRequestProtocol)
    reason: str | None = field(nullable_string, since=8, ignorable=True)


@struct
class JoinGroupResponseMember:
    member_id: str = field(string)
    group_instance_id: str | None = field(nullable_string, since=5, ignorable=True)
    metadata: bytes = field(bytes_)


@response(ApiKey.JOIN_GROUP, versions=(0, 9), flexible=6)
class JoinGroupResponse:
    throttle_time_ms: int = field(int32, since=2, ignorable=True)
    error_code: int = field(int16)
    generation_id: int = field(int32, default=-1)
    protocol_type: str | None = field(nullable_string, since=7, ignorable=True)
    protocol_name: str | None = field(nullable_string, nullable_since=7, default="")
    leader: str = field(string)
    skip_assignment: bool = field(boolean, since=9)
    member_id: str = field(string)
    members: list[JoinGroupResponseMember] = array(JoinGroupResponseMember)
