"""DescribeDelegationToken (key 41), versions 1-3, flexible since 2.

Delegation tokens (KIP-48).

    1  answered first and throttled by the client afterwards (KIP-219)
    3  requester of the token (KIP-373)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import bytes_, int16, int32, int64, string
from kafkalite.wire.schema import array, field, nullable_array, request, response, struct


@struct
class DescribeDelegationTokenOwner:
    principal_type: str = field(string)
    principal_name: str = field(string)


@request(ApiKey.DESCRIBE_DELEGATION_TOKEN, versions=(1, 3), flexible=2)
class DescribeDelegationTokenRequest:
    owners: list[DescribeDelegationTokenOwner] | None = nullable_array(
        DescribeDelegationTokenOwner, default=[]
    )


@struct
class DescribedDelegationTokenRenewer:
    principal_type: str = field(string)
    principal_name: str = field(string)


@struct
class DescribedDelegationToken:
    principal_type: str = field(string)
    principal_name: str = field(string)
    token_requester_principal_type: str = field(string, since=3)
    token_requester_principal_name: str = field(string, since=3)
    issue_timestamp: int = field(int64)
    expiry_timestamp: int = field(int64)
    max_timestamp: int = field(int64)
    token_id: str = field(string)
    hmac: bytes = field(bytes_, sensitive=True)
    renewers: list[DescribedDelegationTokenRenewer] = array(DescribedDelegationTokenRenewer)


@response(ApiKey.DESCRIBE_DELEGATION_TOKEN, versions=(1, 3), flexible=2)
class DescribeDelegationTokenResponse:
    error_code: int = field(int16)
    tokens: list[DescribedDelegationToken] = array(DescribedDelegationToken)
    throttle_time_ms: int = field(int32)
