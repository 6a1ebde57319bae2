"""SaslAuthenticate where no login is due: it is one too many."""

from __future__ import annotations

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from tests.kafkalite.conftest import Client
from tests.kafkalite.security.secured import Users


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_a_listener_without_sasl_refuses_it_and_goes_on(client: Client, version: int) -> None:
    answer = await client.ask(SaslAuthenticateRequest(b"\0alice\0a"), version)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert answer.error_message == (
        "SaslAuthenticate request received after successful authentication"
    )
    assert (await client.ask(MetadataRequest(topics=[]))).error_code == ErrorCode.NONE


async def test_a_token_without_a_handshake_before_it_is_refused(users: Users) -> None:
    alice = await users.user("alice")
    answer = await alice.ask(SaslAuthenticateRequest(b"\0alice\0a"), 2)
    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
