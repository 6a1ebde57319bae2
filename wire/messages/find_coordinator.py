"""FindCoordinator (key 10), versions 0-6, flexible since 3.

The broker that coordinates a group or a transactional id.

    1  key type: 0 group, 1 transaction; error message (KIP-98)
    2  answered first and throttled by the client afterwards (KIP-219)
    4  several keys at once (KIP-699)
    5  TRANSACTION_ABORTABLE is possible (KIP-890)
    6  key type 2: share, with keys "group:topic id:partition" (KIP-932)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int8, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@request(ApiKey.FIND_COORDINATOR, versions=(0, 6), flexible=3)
class FindCoordinatorRequest:
    key: str = field(string, until=3)
    key_type: int = field(int8, since=1)
    coordinator_keys: list[str] = array(string, since=4)


@struct
class Coordinator:
    key: str = field(string)
    node_id: int = field(int32)
    host: str = field(string)
    port: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")


@response(ApiKey.FIND_COORDINATOR, versions=(0, 6), flexible=3)
class FindCoordinatorResponse:
    throttle_time_ms: int = field(int32, since=1, ignorable=True)
    error_code: int = field(int16, until=3)
    error_message: str | None = field(nullable_string, since=1, until=3, default="", ignorable=True)
    node_id: int = field(int32, until=3)
    host: str = field(string, until=3)
    port: int = field(int32, until=3)
    coordinators: list[Coordinator] = array(Coordinator, since=4)
