"""ExpireDelegationToken (key 40), versions 1-2: an earlier end for a token (KIP-48).

A negative period ends it at once. Kafka: KafkaApis.handleExpireTokenRequest,
DelegationTokenControlManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.requests.slices import WaitingSteps, briefly_or_in_slices
from kafkalite.security.delegation_tokens import NO_TIME, are_token_requests_allowed
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from kafkalite.wire.messages.stored.delegation_token_record import DelegationTokenRecord

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


def refused(
    context: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse | None:
    """The response on a connection that may not ask for tokens."""
    if are_token_requests_allowed(context.principal, context.security_protocol):
        return None
    return ExpireDelegationTokenResponse(
        error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, expiry_timestamp_ms=NO_TIME
    )


async def handle(
    services: Services, context: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    refusal = refused(context, request)
    if refusal is not None:
        return refusal
    return await briefly_or_in_slices(_expired(services, context, request), context)


def _expired(
    services: Services, context: RequestContext, request: ExpireDelegationTokenRequest
) -> WaitingSteps[ExpireDelegationTokenResponse]:
    tokens = services.security.tokens
    try:
        token_id = yield from tokens.found(request.hmac)
        yield from services.cluster.settling()
        now_ms = services.now_ms()
        record = tokens.expire(token_id, context.principal, request.expiry_time_period_ms, now_ms)
    except KafkaError as error:
        return ExpireDelegationTokenResponse(error_code=error.code)
    services.cluster.begin_write([record])
    expiry_ms = record.expiration_timestamp if isinstance(record, DelegationTokenRecord) else now_ms
    return ExpireDelegationTokenResponse(error_code=ErrorCode.NONE, expiry_timestamp_ms=expiry_ms)
