"""SaslHandshake where no login is due: it is one too many."""

from __future__ import annotations

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest
from tests.kafkalite.conftest import Client


@pytest.mark.parametrize("version", [0, 1])
async def test_a_listener_without_sasl_refuses_it_and_goes_on(client: Client, version: int) -> None:
    answer = await client.ask(SaslHandshakeRequest("PLAIN"), version)
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
    assert (await client.ask(MetadataRequest(topics=[]))).error_code == ErrorCode.NONE
