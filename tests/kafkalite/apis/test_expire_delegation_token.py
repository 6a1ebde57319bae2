"""ExpireDelegationToken: an earlier end, or the end at once."""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.conftest import Client
from tests.kafkalite.delegation_tokens import (
    HOUR_MS,
    WEEK_MS,
    create,
    describe,
    expire,
    renew,
    seen,
    users_with_tokens,
)


async def test_a_new_end_is_set_up_to_the_longest() -> None:
    async with users_with_tokens() as users:
        alice = await users.user("alice")
        made = await create(alice)
        ended = await expire(alice, made.hmac, HOUR_MS)
        assert ended.error_code == ErrorCode.NONE
        assert 0 <= ended.expiry_timestamp_ms - made.issue_timestamp_ms - HOUR_MS < HOUR_MS
        (token,) = (await describe(alice, everything=True)).tokens
        assert token.expiry_timestamp == ended.expiry_timestamp_ms
        ended = await expire(alice, made.hmac, 2 * WEEK_MS)
        assert ended.expiry_timestamp_ms == made.max_timestamp_ms


async def test_a_negative_period_ends_it_at_once() -> None:
    async with users_with_tokens() as users:
        alice = await users.user("alice")
        made = await create(alice)
        ended = await expire(alice, made.hmac, -1)
        assert ended.error_code == ErrorCode.NONE
        assert 0 <= ended.expiry_timestamp_ms - made.issue_timestamp_ms < HOUR_MS
        assert await seen(alice) == []
        again = await renew(alice, made.hmac, HOUR_MS)
        assert again.error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


async def test_others_do_not_end_it() -> None:
    async with users_with_tokens() as users:
        alice = await users.user("alice")
        made = await create(alice)
        answer = await expire(await users.user("bob"), made.hmac, -1)
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH
        assert await seen(alice) == [made.token_id]


async def test_without_a_login_nothing_ends(client: Client) -> None:
    answer = await expire(client, b"x", -1)
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert answer.expiry_timestamp_ms == -1
