"""RenewDelegationToken (key 39), versions 1-2, flexible since 2.

Delegation tokens (KIP-48).

    1  answered first and throttled by the client afterwards (KIP-219)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import bytes_, int16, int32, int64
from kafkalite.wire.schema import field, request, response


@request(ApiKey.RENEW_DELEGATION_TOKEN, versions=(1, 2), flexible=2)
class RenewDelegationTokenRequest:
    hmac: bytes = field(bytes_, sensitive=True)
    renew_period_ms: int = field(int64)


@response(ApiKey.RENEW_DELEGATION_TOKEN, versions=(1, 2), flexible=2)
class RenewDelegationTokenResponse:
    error_code: int = field(int16)
    expiry_timestamp_ms: int = field(int64)
    throttle_time_ms: int = field(int32)
