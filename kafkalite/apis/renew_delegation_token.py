"""RenewDelegationToken (key 39), versions 1-2: a longer life for a token (KIP-48).

Kafka: KafkaApis.handleRenewTokenRequest, DelegationTokenControlManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.requests.slices import WaitingSteps, briefly_or_in_slices
from kafkalite.security.delegation_tokens import NO_TIME, are_token_requests_allowed
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def refused(
    context: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse | None:
    """The response on a connection that may not ask for tokens."""
    if are_token_requests_allowed(context.principal, context.security_protocol):
        return None
    return RenewDelegationTokenResponse(
        error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, expiry_timestamp_ms=NO_TIME
    )


async def handle(
    services: Services, context: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    refusal = refused(context, request)
    if refusal is not None:
        return refusal
    return await briefly_or_in_slices(_renewed(services, context, request), context)


def _renewed(
    services: Services, context: RequestContext, request: RenewDelegationTokenRequest
) -> WaitingSteps[RenewDelegationTokenResponse]:
    tokens = services.security.tokens
    try:
        token_id = yield from tokens.found(request.hmac)
        yield from services.cluster.settling()
        record = tokens.renew(
            token_id, context.principal, request.renew_period_ms, services.now_ms()
        )
    except KafkaError as error:
        return RenewDelegationTokenResponse(error_code=error.code)
    services.cluster.begin_write([record])
    return RenewDelegationTokenResponse(
        error_code=ErrorCode.NONE, expiry_timestamp_ms=record.expiration_timestamp
    )
