"""CreateDelegationToken: a token with its secret, for oneself or for another."""

from __future__ import annotations

from kafkalite.security.acls import Operation, ResourceType
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from tests.kafkalite.conftest import Client
from tests.kafkalite.delegation_tokens import (
    DAY_MS,
    HOUR_MS,
    WEEK_MS,
    create,
    describe,
    users_with_tokens,
)
from tests.kafkalite.security.secured import SASL_LISTENER, allow, grant


async def test_a_token_is_given_with_its_times_and_secret() -> None:
    async with users_with_tokens() as users:
        alice = await users.user("alice")
        made = await create(alice, "bob")
        assert made.error_code == ErrorCode.NONE
        assert (made.principal_type, made.principal_name) == ("User", "alice")
        assert made.token_requester_principal_name == "alice"
        assert made.expiry_timestamp_ms - made.issue_timestamp_ms == DAY_MS
        assert made.max_timestamp_ms - made.issue_timestamp_ms == WEEK_MS
        (token,) = (await describe(alice, everything=True)).tokens
        assert (token.token_id, token.hmac) == (made.token_id, made.hmac)
        assert len(made.hmac) == 64
        assert [each.principal_name for each in token.renewers] == ["bob"]


async def test_a_shorter_life_may_be_asked_for() -> None:
    async with users_with_tokens() as users:
        made = await create(await users.user("alice"), max_lifetime_ms=HOUR_MS)
        assert made.max_timestamp_ms - made.issue_timestamp_ms == HOUR_MS
        assert made.expiry_timestamp_ms == made.max_timestamp_ms


async def test_for_another_user_with_the_right_to() -> None:
    async with users_with_tokens() as users:
        alice = await users.user("alice")
        refused = await create(alice, owner="bob")
        assert refused.error_code == ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
        assert refused.issue_timestamp_ms == -1
        await grant(users, allow(Operation.CREATE_TOKENS, ResourceType.USER, "User:bob"))
        made = await create(alice, owner="bob")
        assert (made.error_code, made.principal_name) == (ErrorCode.NONE, "bob")
        assert made.token_requester_principal_name == "alice"


async def test_a_renewer_of_another_type_is_refused() -> None:
    async with users_with_tokens() as users:
        alice = await users.user("alice")
        renewers = [CreatableRenewers(principal_type="Group", principal_name="staff")]
        answer = await alice.ask(CreateDelegationTokenRequest(renewers=renewers))
        assert answer.error_code == ErrorCode.INVALID_PRINCIPAL_TYPE
        assert (answer.issue_timestamp_ms, answer.token_id) == (-1, "")


async def test_without_a_login_there_is_no_token(client: Client) -> None:
    made = await create(client)
    assert made.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert (made.issue_timestamp_ms, made.token_id, made.hmac) == (-1, "", b"")


async def test_without_a_secret_key_there_are_none() -> None:
    async with users_with_tokens(SASL_LISTENER) as users:
        made = await create(await users.user("alice"))
        assert made.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
        assert made.issue_timestamp_ms == 0


async def test_an_owner_without_a_type_is_none(client: Client) -> None:
    request = CreateDelegationTokenRequest(owner_principal_type=None, owner_principal_name="x")
    made = await client.ask(request)
    assert made.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (made.principal_type, made.principal_name) == ("User", "ANONYMOUS")
    assert (made.issue_timestamp_ms, made.token_id) == (-1, "")
    async with users_with_tokens() as users:
        assert await (await users.user("alice")).ask(request) == made
