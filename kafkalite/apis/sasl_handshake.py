"""SaslHandshake (key 17), versions 0-1: after authentication, or on a listener without SASL.

On a listener with SASL the handshake is answered before requests are (security/authentication.py).
One that comes here is too late, and is refused with ILLEGAL_SASL_STATE, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: SaslHandshakeRequest
) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
