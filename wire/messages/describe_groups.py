"""DescribeGroups (key 15), versions 0-6, flexible since 5.

State and members of classic groups.

    1  throttle time (KIP-124)
    2  answered first and throttled by the client afterwards (KIP-219)
    3  authorized operations on request (KIP-430)
    4  group instance id (KIP-345)
    6  GROUP_ID_NOT_FOUND rather than the state Dead, with a message (KIP-1043)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, bytes_, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@request(ApiKey.DESCRIBE_GROUPS, versions=(0, 6), flexible=5)
class DescribeGroupsRequest:
    groups: list[str] = array(string)
    include_authorized_operations: bool = field(boolean, since=3)


@struct
class DescribedGroupMember:
    member_id: str = field(string)
    group_instance_id: str | None = field(nullable_string, since=4, ignorable=True)
    client_id: str = field(string)
    client_host: str = field(string)
    member_metadata: bytes = field(bytes_)
    member_assignment: bytes = field(bytes_)


@struct
class DescribedGroup:
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, since=6)
    group_id: str = field(string)
    group_state: str = field(string)
    protocol_type: str = field(string)
    protocol_data: str = field(string)
    members: list[DescribedGroupMember] = array(DescribedGroupMember)
    authorized_operations: int = field(int32, since=3, default=-0x80000000)


@response(ApiKey.DESCRIBE_GROUPS, versions=(0, 6), flexible=5)
class DescribeGroupsResponse:
    throttle_time_ms: int = field(int32, since=1, ignorable=True)
    groups: list[DescribedGroup] = array(DescribedGroup)
