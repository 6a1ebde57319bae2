"""SaslHandshake (key 17), versions 0-1.

Which mechanism to authenticate with. Never flexible, since old clients negotiate its version badly
(KAFKA-9577).

    0  raw SASL tokens follow, without header
    1  SaslAuthenticate follows (KIP-152)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, string
from kafkalite.wire.schema import array, field, request, response


@request(ApiKey.SASL_HANDSHAKE, versions=(0, 1), flexible=None)
class SaslHandshakeRequest:
    mechanism: str = field(string)


@response(ApiKey.SASL_HANDSHAKE, versions=(0, 1), flexible=None)
class SaslHandshakeResponse:
    error_code: int = field(int16)
    mechanisms: list[str] = array(string)
