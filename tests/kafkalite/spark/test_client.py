"""The client: an address that does not answer is named, at once and in the end."""

from __future__ import annotations

import logging
import socket

import pytest

from kafkalite.spark.client import Client
from kafkalite.spark.errors import BrokerError


@pytest.fixture
def dead_address() -> str:
    """Nothing listens there."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


def test_a_dead_bootstrap_is_named_at_once_and_in_the_end(
    dead_address: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    with (
        Client(dead_address, retry_seconds=0.3) as client,
        pytest.raises(BrokerError, match=f"{dead_address}: Connection refused"),
    ):
        client.partitions()
    (line,) = caplog.messages
    assert line == f"metadata: {dead_address}: Connection refused (trying for 0.3 s)"


def test_every_address_that_was_tried_is_named(dead_address: str) -> None:
    other = "127.0.0.1:1"
    with (
        Client(f"{dead_address},{other}", retry_seconds=0) as client,
        pytest.raises(BrokerError) as failure,
    ):
        client.partitions()
    assert dead_address in str(failure.value)
    assert other in str(failure.value)
