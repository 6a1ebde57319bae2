"""CreateDelegationToken (key 38), versions 1-3: a token in place of a password (KIP-48, KIP-373).

Kafka: KafkaApis.handleCreateTokenRequest, DelegationTokenControlManager.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.requests.principal import ANONYMOUS, Principal
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


async def handle(
    services: Services, context: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    if request.owner_principal_name and request.owner_principal_type is None:
        # Kafka fails before it knows who asks.
        return CreateDelegationTokenResponse(
            error_code=ErrorCode.UNKNOWN_SERVER_ERROR,
            principal_type=ANONYMOUS.type,
            principal_name=ANONYMOUS.name,
            token_requester_principal_type=ANONYMOUS.type,
            token_requester_principal_name=ANONYMOUS.name,
            issue_timestamp_ms=NO_TIME,
            expiry_timestamp_ms=NO_TIME,
            max_timestamp_ms=NO_TIME,
        )
    requester = context.principal
    owner = owner_of(request, requester)
    response = CreateDelegationTokenResponse(principal_type=owner.type, principal_name=owner.name)
    if context.api_version >= REQUESTER_SINCE:
        response.token_requester_principal_type = requester.type
        response.token_requester_principal_name = requester.name
    renewers = await in_slices(mapped(_principal, request.renewers), context)
    tokens = services.security.tokens
    try:
        if not are_token_requests_allowed(context.principal, context.security_protocol):
            raise KafkaError(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
        record = tokens.create(
            owner,
            requester,
            renewers,
            request.max_lifetime_ms,
            services.now_ms(),
            lambda: services.cluster.ids.uuid("token"),
        )
    except KafkaError as error:
        response.error_code = error.code
        if error.code is not ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED:
            response.issue_timestamp_ms = response.expiry_timestamp_ms = NO_TIME
            response.max_timestamp_ms = NO_TIME
        return response
    services.cluster.begin_write([record])
    response.issue_timestamp_ms = record.issue_timestamp
    response.expiry_timestamp_ms = record.expiration_timestamp
    response.max_timestamp_ms = record.max_timestamp
    response.token_id = record.token_id
    response.hmac = tokens.hmac_of(record.token_id)
    return response


def _principal(renewer: CreatableRenewers) -> Principal:
    return Principal(renewer.principal_type, renewer.principal_name)
