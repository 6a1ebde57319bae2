"""ListGroups (key 16), versions 0-5, flexible since 3.

All groups that a broker coordinates.

    1  throttle time (KIP-124)
    2  answered first and throttled by the client afterwards (KIP-219)
    4  states: shown, and to choose by (KIP-518)
    5  types: shown, and to choose by (KIP-848)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, string
from kafkalite.wire.schema import array, field, request, response, struct


@request(ApiKey.LIST_GROUPS, versions=(0, 5), flexible=3)
class ListGroupsRequest:
    states_filter: list[str] = array(string, since=4)
    types_filter: list[str] = array(string, since=5)


@struct
class ListedGroup:
    group_id: str = field(string)
    protocol_type: str = field(string)
    group_state: str = field(string, since=4, ignorable=True)
    group_type: str = field(string, since=5, ignorable=True)


@response(ApiKey.LIST_GROUPS, versions=(0, 5), flexible=3)
class ListGroupsResponse:
    throttle_time_ms: int = field(int32, since=1, ignorable=True)
    error_code: int = field(int16)
    groups: list[ListedGroup] = array(ListedGroup)
