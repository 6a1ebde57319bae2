"""SaslAuthenticate (key 36), versions 0-2: after authentication, or on a listener without SASL.

On a listener with SASL tokens are answered before requests are (security/authentication.py). Here
one is refused with ILLEGAL_SASL_STATE, as in Kafka.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: SaslAuthenticateRequest
) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )
