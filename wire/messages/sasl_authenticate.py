"""SaslAuthenticate (key 36), versions 0-2, flexible since 2.

A mechanism's tokens, after SaslHandshake 1 (KIP-152).

    1  session lifetime, after which to authenticate again (KIP-368)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import bytes_, int16, int64, nullable_string
from kafkalite.wire.schema import field, request, response


@request(ApiKey.SASL_AUTHENTICATE, versions=(0, 2), flexible=2)
class SaslAuthenticateRequest:
    auth_bytes: bytes = field(bytes_, sensitive=True)


@response(ApiKey.SASL_AUTHENTICATE, versions=(0, 2), flexible=2)
class SaslAuthenticateResponse:
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
    auth_bytes: bytes = field(bytes_, sensitive=True)
    session_lifetime_ms: int = field(int64, since=1, ignorable=True)
