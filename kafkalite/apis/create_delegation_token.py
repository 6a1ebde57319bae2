"""CreateDelegationToken (key 38), versions 1-3: a token in place of a password (KIP-48, KIP-373).

Kafka: KafkaApis.handleCreateTokenRequest, DelegationTokenControlManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.requests.principal import USER_TYPE, Principal
from kafkalite.requests.refusals import refuse
from kafkalite.requests.slices import in_slices, mapped
from kafkalite.security.delegation_tokens import (
    NO_TIME,
    REQUESTER_SINCE,
    are_token_requests_allowed,
    owner_of,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def refused(
    context: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse | None:
    """The response on a connection that may not ask for tokens, and for parties that cannot be."""
    if request.owner_principal_name and request.owner_principal_type is None:
        # Kafka fails before it knows who asks.
        code = ErrorCode.UNKNOWN_SERVER_ERROR
        return refuse(context.api_key, context.api_version, request, code)
    if not are_token_requests_allowed(context.principal, context.security_protocol):
        return _without_token(context, request, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    types = await in_slices(mapped(_type, request.renewers), context)
    if types.count(USER_TYPE) < len(types):
        return _without_token(context, request, ErrorCode.INVALID_PRINCIPAL_TYPE)
    return None


async def handle(
    services: Services, context: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    refusal = await refused(context, request)
    if refusal is not None:
        return refusal
    renewers = await in_slices(mapped(_principal, request.renewers), context)
    tokens = services.security.tokens
    try:
        record = tokens.create(
            owner_of(request, context.principal),
            context.principal,
            renewers,
            request.max_lifetime_ms,
            services.now_ms(),
            lambda: services.cluster.ids.uuid("token"),
        )
    except KafkaError as error:
        return _without_token(context, request, error.code)
    services.cluster.begin_write([record])
    response = _response(context, request)
    response.issue_timestamp_ms = record.issue_timestamp
    response.expiry_timestamp_ms = record.expiration_timestamp
    response.max_timestamp_ms = record.max_timestamp
    response.token_id = record.token_id
    response.hmac = tokens.hmac_of(record.token_id)
    return response


def _without_token(
    context: RequestContext, request: CreateDelegationTokenRequest, code: ErrorCode
) -> CreateDelegationTokenResponse:
    response = _response(context, request)
    response.error_code = code
    if code is not ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED:
        response.issue_timestamp_ms = response.expiry_timestamp_ms = NO_TIME
        response.max_timestamp_ms = NO_TIME
    return response


def _response(
    context: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    """A response that names who is concerned."""
    requester = context.principal
    owner = owner_of(request, requester)
    response = CreateDelegationTokenResponse(principal_type=owner.type, principal_name=owner.name)
    if context.api_version >= REQUESTER_SINCE:
        response.token_requester_principal_type = requester.type
        response.token_requester_principal_name = requester.name
    return response


def _type(renewer: CreatableRenewers) -> str:
    return renewer.principal_type


def _principal(renewer: CreatableRenewers) -> Principal:
    return Principal(renewer.principal_type, renewer.principal_name)
