"""CreateDelegationToken (key 38), versions 1-3, flexible since 2.

Delegation tokens (KIP-48).

    1  answered first and throttled by the client afterwards (KIP-219)
    3  owner and requester of the token (KIP-373)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import bytes_, int16, int32, int64, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class CreatableRenewers:
    principal_type: str = field(string)
    principal_name: str = field(string)


@request(ApiKey.CREATE_DELEGATION_TOKEN, versions=(1, 3), flexible=2)
class CreateDelegationTokenRequest:
    owner_principal_type: str | None = field(nullable_string, since=3, default="")
    owner_principal_name: str | None = field(nullable_string, since=3, default="")
    renewers: list[CreatableRenewers] = array(CreatableRenewers)
    max_lifetime_ms: int = field(int64)


@response(ApiKey.CREATE_DELEGATION_TOKEN, versions=(1, 3), flexible=2)
class CreateDelegationTokenResponse:
    error_code: int = field(int16)
    principal_type: str = field(string)
    principal_name: str = field(string)
    token_requester_principal_type: str = field(string, since=3)
    token_requester_principal_name: str = field(string, since=3)
    issue_timestamp_ms: int = field(int64)
    expiry_timestamp_ms: int = field(int64)
    max_timestamp_ms: int = field(int64)
    token_id: str = field(string)
    hmac: bytes = field(bytes_, sensitive=True)
    throttle_time_ms: int = field(int32)
