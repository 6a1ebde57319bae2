"""UnregisterBroker (key 64), version 0, flexible since 0.

Makes the cluster forget a broker (KIP-500).
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, nullable_string
from kafkalite.wire.schema import field, request, response


@request(ApiKey.UNREGISTER_BROKER, versions=(0, 0), flexible=0)
class UnregisterBrokerRequest:
    broker_id: int = field(int32)


@response(ApiKey.UNREGISTER_BROKER, versions=(0, 0), flexible=0)
class UnregisterBrokerResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
