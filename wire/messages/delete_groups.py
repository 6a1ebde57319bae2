"""DeleteGroups (key 42), versions 0-2, flexible since 2.

Removes groups without members, and their offsets (KIP-229).

    1  answered first and throttled by the client afterwards (KIP-219)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, string
from kafkalite.wire.schema import array, field, request, response, struct


@request(ApiKey.DELETE_GROUPS, versions=(0, 2), flexible=2)
class DeleteGroupsRequest:
    groups_names: list[str] = array(string)


@struct
class DeletableGroupResult:
    group_id: str = field(string)
    error_code: int = field(int16)


@response(ApiKey.DELETE_GROUPS, versions=(0, 2), flexible=2)
class DeleteGroupsResponse:
    throttle_time_ms: int = field(int32)
    results: list[DeletableGroupResult] = array(DeletableGroupResult)
