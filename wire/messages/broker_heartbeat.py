"""BrokerHeartbeat (key 63), versions 0-2, flexible since 0.

A broker keeps its session with the active controller, and asks to be unfenced or shut down
(KIP-631).

    1  offline log directories (KIP-858)
    2  cordoned log directories (KIP-1066)
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int16, int32, int64, uuid
from kafkalite.wire.schema import array, field, nullable_array, request, response


@request(ApiKey.BROKER_HEARTBEAT, versions=(0, 2), flexible=0)
class BrokerHeartbeatRequest:
    broker_id: int = field(int32)
    broker_epoch: int = field(int64, default=-1)
    current_metadata_offset: int = field(int64)
    want_fence: bool = field(boolean)
    want_shut_down: bool = field(boolean)
    offline_log_dirs: list[UUID] = array(uuid, since=1, tag=0)
    cordoned_log_dirs: list[UUID] | None = nullable_array(uuid, since=2, tag=1)


@response(ApiKey.BROKER_HEARTBEAT, versions=(0, 2), flexible=0)
class BrokerHeartbeatResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    is_caught_up: bool = field(boolean)
    is_fenced: bool = field(boolean, default=True)
    should_shut_down: bool = field(boolean)
