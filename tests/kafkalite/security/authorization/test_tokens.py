"""Delegation tokens: who makes them for others, and who sees them (KIP-373)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.requests.slices import at_once
from kafkalite.security.acls import Acl, Operation, ResourceType
from kafkalite.security.authorization.tokens import create_delegation_token, sees_token
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from kafkalite.wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
)
from tests.kafkalite.security.authorizers import acl, asked


def created(owner: str | None, *acls: Acl) -> Any:
    request = CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name=owner)
    return at_once(
        create_delegation_token(asked(ApiKey.CREATE_DELEGATION_TOKEN, request, *acls, version=3))
    )


@pytest.mark.parametrize("owner", [None, "", "alice"])
def test_a_token_for_oneself_needs_nothing(owner: str | None) -> None:
    assert not created(owner).is_final


def test_a_token_for_another_needs_create_tokens_on_that_user() -> None:
    response = created("bob").response
    assert response.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    assert (response.principal_type, response.principal_name) == ("User", "bob")
    assert response.token_requester_principal_name == "alice"
    assert {
        response.issue_timestamp_ms,
        response.expiry_timestamp_ms,
        response.max_timestamp_ms,
    } == {-1}
    entry = acl("User:bob", Operation.CREATE_TOKENS, kind=ResourceType.USER)
    assert not created("bob", entry).is_final
    assert created("carol", entry).is_final


def test_that_no_tokens_are_given_here_is_said_first() -> None:
    request = CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name="bob")
    question = asked(
        ApiKey.CREATE_DELEGATION_TOKEN, request, version=3, security_protocol="PLAINTEXT"
    )
    assert at_once(create_delegation_token(question)).request is request


def token(owner: str, requester: str = "root", *renewers: str) -> DescribedDelegationToken:
    return DescribedDelegationToken(
        principal_type="User",
        principal_name=owner,
        token_requester_principal_type="User",
        token_requester_principal_name=requester,
        token_id="t1",
        renewers=[
            DescribedDelegationTokenRenewer(principal_type="User", principal_name=name)
            for name in renewers
        ],
    )


@pytest.mark.parametrize(
    ("seen", "acls", "expected"),
    [
        (token("bob"), [], False),
        (token("alice"), [], True),
        (token("bob", "alice"), [], True),
        (token("bob", "root", "carol", "alice"), [], True),
        (
            token("bob"),
            [acl("t1", Operation.DESCRIBE, kind=ResourceType.DELEGATION_TOKEN)],
            True,
        ),
        (
            token("bob"),
            [acl("t2", Operation.DESCRIBE, kind=ResourceType.DELEGATION_TOKEN)],
            False,
        ),
        (
            token("bob"),
            [acl("User:bob", Operation.DESCRIBE_TOKENS, kind=ResourceType.USER)],
            True,
        ),
        (
            token("bob"),
            [acl("User:alice", Operation.DESCRIBE_TOKENS, kind=ResourceType.USER)],
            False,
        ),
    ],
)
def test_tokens_are_seen_by_their_parties_and_by_right(
    seen: DescribedDelegationToken, acls: list[Acl], expected: bool
) -> None:
    request = DescribeDelegationTokenRequest(owners=None)
    question = asked(ApiKey.DESCRIBE_DELEGATION_TOKEN, request, *acls, version=3)
    assert sees_token(question, seen) is expected
