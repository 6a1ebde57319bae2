"""DescribeDelegationToken: tokens by their owners, of those that one may see."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkalite.security.acls import Operation, ResourceType
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.conftest import Client
from tests.kafkalite.delegation_tokens import (
    create,
    describe,
    expire,
    renew,
    seen,
    users_with_tokens,
)
from tests.kafkalite.longest_turn import longest_turn
from tests.kafkalite.security.secured import SASL_LISTENER, allow, grant
from tests.kafkalite.server.test_huge_requests import MOST_SECONDS

COUNT = 10_000


async def test_null_means_all_and_an_empty_list_none() -> None:
    async with users_with_tokens() as users:
        alice, root = await users.user("alice"), await users.user("root")
        first = (await create(alice)).token_id
        second = (await create(root, "bob")).token_id
        assert set(await seen(root)) == {first, second}
        assert (await describe(root)).tokens == []
        owners = (await describe(root, "alice")).tokens
        assert [each.token_id for each in owners] == [first]
        # A renewer is named as an owner is.
        renewed = (await describe(root, "bob")).tokens
        assert [each.token_id for each in renewed] == [second]


async def test_a_token_is_told_as_it_is() -> None:
    async with users_with_tokens() as users:
        alice = await users.user("alice")
        made = await create(alice, "bob", "carol")
        (token,) = (await describe(alice, everything=True)).tokens
        assert (token.principal_type, token.principal_name) == ("User", "alice")
        assert token.token_requester_principal_name == "alice"
        assert token.issue_timestamp == made.issue_timestamp_ms
        assert token.expiry_timestamp == made.expiry_timestamp_ms
        assert token.max_timestamp == made.max_timestamp_ms
        assert [each.principal_name for each in token.renewers] == ["bob", "carol"]


async def test_others_see_it_by_right_only() -> None:
    async with users_with_tokens() as users:
        alice, bob = await users.user("alice"), await users.user("bob")
        token_id = (await create(bob)).token_id
        assert await seen(bob) == [token_id]
        assert await seen(alice) == []
        await grant(users, allow(Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN, token_id))
        assert await seen(alice) == [token_id]


async def test_without_a_login_nothing_is_told(client: Client) -> None:
    answer = await describe(client, everything=True)
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


async def test_without_a_secret_key_there_are_none() -> None:
    async with users_with_tokens(SASL_LISTENER) as users:
        answer = await describe(await users.user("alice"), everything=True)
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


@pytest.mark.slow
async def test_very_many_tokens_do_not_hold_the_loop() -> None:
    async with users_with_tokens() as users:
        alice = await users.user("alice")
        made = await create(alice)
        (record,) = users._broker._running.services.cluster.image.delegation_tokens.values()
        tokens = users._broker._running.services.cluster.image.delegation_tokens
        tokens.update({f"t{n}": replace(record, token_id=f"t{n}") for n in range(COUNT)})
        with longest_turn() as longest:
            assert len((await describe(alice, everything=True)).tokens) == COUNT + 1
            assert (await renew(alice, made.hmac, 1000)).error_code == ErrorCode.NONE
            tokens.update({f"u{n}": replace(record, token_id=f"u{n}") for n in range(COUNT)})
            assert (
                await renew(alice, b"none", 1000)
            ).error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND
            assert (await expire(alice, made.hmac, -1)).error_code == ErrorCode.NONE
        assert longest.seconds < MOST_SECONDS
