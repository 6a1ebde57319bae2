"""A broker with delegation tokens, and what its users ask of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kafkalite.testing import broker
from kafkalite.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from kafkalite.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from kafkalite.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kafkalite.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.kafkalite.security.secured import WITH_ACLS, Users

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
WEEK_MS = 7 * DAY_MS
WITH_TOKENS = {**WITH_ACLS, "delegation.token.secret.key": "a secret of the broker's"}


@asynccontextmanager
async def users_with_tokens(configs: dict[str, str] | None = None) -> AsyncIterator[Users]:
    """Users of a broker with delegation tokens: root may do everything, alice and bob nothing."""
    running = broker(WITH_TOKENS if configs is None else configs)
    async with running, Users(running) as users:
        yield users


async def create(
    client: Any,
    *renewers: str,
    owner: str | None = None,
    max_lifetime_ms: int = -1,
    version: int | None = None,
) -> Any:
    request = CreateDelegationTokenRequest(
        renewers=[
            CreatableRenewers(principal_type="User", principal_name=each) for each in renewers
        ],
        max_lifetime_ms=max_lifetime_ms,
    )
    if owner is not None:
        request.owner_principal_type, request.owner_principal_name = "User", owner
    return await client.ask(request, version)


async def renew(client: Any, hmac: bytes, period_ms: int) -> Any:
    return await client.ask(RenewDelegationTokenRequest(hmac=hmac, renew_period_ms=period_ms))


async def expire(client: Any, hmac: bytes, period_ms: int) -> Any:
    request = ExpireDelegationTokenRequest(hmac=hmac, expiry_time_period_ms=period_ms)
    return await client.ask(request)


async def describe(client: Any, *owners: str, everything: bool = False) -> Any:
    named = [
        DescribeDelegationTokenOwner(principal_type="User", principal_name=each) for each in owners
    ]
    request = DescribeDelegationTokenRequest(owners=None if everything else named)
    return await client.ask(request)


async def seen(client: Any) -> list[str]:
    """The ids of all tokens that a client sees."""
    return [each.token_id for each in (await describe(client, everything=True)).tokens]
