"""RenewDelegationToken: a longer life, up to the longest there is."""

from __future__ import annotations

import pytest

from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.conftest import Client
from tests.kafkalite.delegation_tokens import (
    DAY_MS,
    HOUR_MS,
    create,
    describe,
    expire,
    renew,
    users_with_tokens,
)


def is_about(value: int, expected: int) -> bool:
    """Real clocks: a minute more is the time the test took."""
    return expected <= value < expected + 60_000


async def test_owner_and_renewers_renew_it() -> None:
    async with users_with_tokens() as users:
        alice, bob = await users.user("alice"), await users.user("bob")
        made = await create(alice, "bob")
        for user in (alice, bob):
            await expire(alice, made.hmac, HOUR_MS)
            renewed = await renew(user, made.hmac, 2 * HOUR_MS)
            assert renewed.error_code == ErrorCode.NONE
            assert is_about(renewed.expiry_timestamp_ms, made.issue_timestamp_ms + 2 * HOUR_MS)
            (token,) = (await describe(alice, everything=True)).tokens
            assert token.expiry_timestamp == renewed.expiry_timestamp_ms
            assert token.max_timestamp == made.max_timestamp_ms


@pytest.mark.parametrize("period_ms", [-1, 2 * DAY_MS])
async def test_a_renewal_lasts_a_day_unless_a_shorter_time_is_asked_for(period_ms: int) -> None:
    """`delegation.token.expiry.time.ms` is the most that one renewal gives."""
    async with users_with_tokens() as users:
        alice = await users.user("alice")
        made = await create(alice)
        await expire(alice, made.hmac, HOUR_MS)
        renewed = await renew(alice, made.hmac, period_ms)
        assert is_about(renewed.expiry_timestamp_ms, made.issue_timestamp_ms + DAY_MS)


async def test_no_token_lives_longer_than_its_longest() -> None:
    async with users_with_tokens() as users:
        alice = await users.user("alice")
        made = await create(alice, max_lifetime_ms=2 * HOUR_MS)
        await expire(alice, made.hmac, HOUR_MS)
        renewed = await renew(alice, made.hmac, 3 * HOUR_MS)
        assert renewed.expiry_timestamp_ms == made.max_timestamp_ms


async def test_others_do_not_renew_it() -> None:
    async with users_with_tokens() as users:
        made = await create(await users.user("alice"))
        answer = await renew(await users.user("bob"), made.hmac, HOUR_MS)
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH


async def test_a_secret_that_is_none() -> None:
    async with users_with_tokens() as users:
        answer = await renew(await users.user("alice"), b"nonsense", HOUR_MS)
        assert answer.error_code == ErrorCode.DELEGATION_TOKEN_NOT_FOUND


async def test_without_a_login_nothing_is_renewed(client: Client) -> None:
    answer = await renew(client, b"x", HOUR_MS)
    assert answer.error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert answer.expiry_timestamp_ms == -1
