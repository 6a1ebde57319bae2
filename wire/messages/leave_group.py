"""LeaveGroup (key 13), versions 0-5, flexible since 4.

Members leave a classic group.

    1  throttle time (KIP-124)
    2  answered first and throttled by the client afterwards (KIP-219)
    3  several members at once, by member id and group instance id (KIP-345)
    5  reason (KIP-800)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class MemberIdentity:
    member_id: str = field(string)
    group_instance_id: str | None = field(nullable_string)
    reason: str | None = field(nullable_string, since=5, ignorable=True)


@request(ApiKey.LEAVE_GROUP, versions=(0, 5), flexible=4)
class LeaveGroupRequest:
    group_id: str = field(string)
    member_id: str = field(string, until=2)
    members: list[MemberIdentity] = array(MemberIdentity, since=3)


@struct
class MemberResponse:
    member_id: str = field(string)
    group_instance_id: str | None = field(nullable_string, default="")
    error_code: int = field(int16)


@response(ApiKey.LEAVE_GROUP, versions=(0, 5), flexible=4)
class LeaveGroupResponse:
    throttle_time_ms: int = field(int32, since=1, ignorable=True)
    error_code: int = field(int16)
    members: list[MemberResponse] = array(MemberResponse, since=3)
