"""DescribeDelegationToken (key 41), versions 1-3: tokens and their secrets (KIP-48, KIP-373).

`owners` null means all, an empty list none. The table of authorization leaves out what the client
may not see. Kafka: KafkaApis.handleDescribeTokensRequest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkalite.requests.principal import Principal, parse_principal
from kafkalite.requests.slices import Steps, briefly_or_in_slices
from kafkalite.security.delegation_tokens import (
    REQUESTER_SINCE,
    are_token_requests_allowed,
    is_owner_or_renewer,
)
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from kafkalite.wire.messages.stored.delegation_token_record import DelegationTokenRecord

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    tokens = services.security.tokens
    if not are_token_requests_allowed(context.principal, context.security_protocol):
        return DescribeDelegationTokenResponse(
            error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        )
    if not tokens.is_enabled:
        return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    wanted = request.owners
    owners = (
        None
        if wanted is None
        else [Principal(each.principal_type, each.principal_name) for each in wanted]
    )
    described = _found(services, owners, context.api_version)
    return DescribeDelegationTokenResponse(
        error_code=ErrorCode.NONE, tokens=await briefly_or_in_slices(described, context)
    )


def _found(
    services: Services, owners: Sequence[Principal] | None, version: int
) -> Steps[list[DescribedDelegationToken]]:
    tokens = services.security.tokens
    found: list[DescribedDelegationToken] = []
    for token in list(services.cluster.image.delegation_tokens.values()):
        if owners is None or any(is_owner_or_renewer(token, owner) for owner in owners):
            found.append(_described(token, tokens.hmac_of(token.token_id), version))
        yield
    return found


def _described(
    token: DelegationTokenRecord, secret: bytes, version: int
) -> DescribedDelegationToken:
    owner, requester = parse_principal(token.owner), parse_principal(token.requester)
    renewers = [parse_principal(each) for each in token.renewers]
    described = DescribedDelegationToken(
        principal_type=owner.type,
        principal_name=owner.name,
        issue_timestamp=token.issue_timestamp,
        expiry_timestamp=token.expiration_timestamp,
        max_timestamp=token.max_timestamp,
        token_id=token.token_id,
        hmac=secret,
        renewers=[
            DescribedDelegationTokenRenewer(principal_type=each.type, principal_name=each.name)
            for each in renewers
        ],
    )
    if version >= REQUESTER_SINCE:
        described.token_requester_principal_type = requester.type
        described.token_requester_principal_name = requester.name
    return described
