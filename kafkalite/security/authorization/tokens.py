"""Rules for delegation tokens (KIP-373)."""

from __future__ import annotations

from typing import Any

from kafkalite.requests.slices import Steps
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization.rules import Asked, Verdict, handled, refused_whole
from kafkalite.wire.errors import ErrorCode


def create_delegation_token(asked: Asked) -> Steps[Verdict]:
    from kafkalite.security.delegation_tokens import are_token_requests_allowed, owner_of

    requester = asked.access.principal
    if (
        asked.request.owner_principal_name and asked.request.owner_principal_type is None
    ) or not are_token_requests_allowed(requester, asked.security_protocol):
        return handled(asked)  # there it fails, as in Kafka before anybody is asked
    owner = owner_of(asked.request, requester)
    if owner == requester or asked.access.may(
        Operation.CREATE_TOKENS, ResourceType.USER, str(owner)
    ):
        return handled(asked)
    verdict = yield from refused_whole(asked, ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
    response = verdict.response
    response.principal_type, response.principal_name = owner.type, owner.name
    response.token_requester_principal_type = requester.type
    response.token_requester_principal_name = requester.name
    return verdict


def sees_token(asked: Asked, token: Any) -> bool:
    me = asked.access.principal
    parties = (
        (token.principal_type, token.principal_name),
        (token.token_requester_principal_type, token.token_requester_principal_name),
        *((each.principal_type, each.principal_name) for each in token.renewers),
    )
    if (me.type, me.name) in parties:
        return True
    owner = f"{token.principal_type}:{token.principal_name}"
    return asked.access.may(
        Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token.token_id
    ) or asked.access.may(Operation.DESCRIBE_TOKENS, ResourceType.USER, owner)
