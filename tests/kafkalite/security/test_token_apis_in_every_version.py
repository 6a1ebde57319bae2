"""Delegation tokens asked for in every version: the old ones do not name who asked (KIP-373)."""

import pytest

from kafkalite.testing import broker
from kafkalite.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from kafkalite.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from kafkalite.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest
from kafkalite.wire.messages.renew_delegation_token import RenewDelegationTokenRequest
from tests.kafkalite.security.secured import SASL_LISTENER, Users

WITH_TOKENS = {**SASL_LISTENER, "delegation.token.secret.key": "key"}


@pytest.mark.parametrize("version", [1, 2, 3])
async def test_the_life_of_a_token(version: int) -> None:
    requester = "alice" if version >= 3 else ""
    change_version = min(version, 2)
    async with broker(WITH_TOKENS) as running, Users(running) as users:
        alice = await users.user("alice")
        request = CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1)
        created = await alice.ask(request, version)
        assert (created.error_code, created.principal_name) == (0, "alice")
        assert created.token_requester_principal_name == requester

        everything = DescribeDelegationTokenRequest(owners=None)
        (described,) = (await alice.ask(everything, version)).tokens
        assert described.hmac == created.hmac
        assert described.token_requester_principal_name == requester

        renewal = RenewDelegationTokenRequest(hmac=created.hmac, renew_period_ms=60_000)
        renewed = await alice.ask(renewal, change_version)
        assert 0 < renewed.expiry_timestamp_ms < created.expiry_timestamp_ms
        expiry = ExpireDelegationTokenRequest(hmac=created.hmac, expiry_time_period_ms=-1)
        assert (await alice.ask(expiry, change_version)).error_code == 0
        assert (await alice.ask(everything, version)).tokens == []
