"""Connections by address: any broker that answers will do, and all that do not are named."""

from __future__ import annotations

import socket

import pytest

from kafkalite.spark.connection import ConnectionLost
from kafkalite.spark.connections import Connections
from kafkalite.spark.errors import BrokerError
from kafkalite.testing import broker
from kafkalite.wire.messages.metadata import MetadataRequest


@pytest.fixture
def dead_address() -> str:
    """Nothing listens there."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    ("bootstrap", "told"),
    [
        *(("", "is empty"), (" , ", "is empty"), ("a", "'a' is not host:port")),
        *(("a:1,b:x", "'b:x'"), ("a:65536", "'a:65536'"), ("PLAINTEXT://a", "is not host:port")),
    ],
)
def test_what_names_no_broker_is_refused(bootstrap: str, told: str) -> None:
    with pytest.raises(BrokerError, match=told):
        Connections(bootstrap, 1)


def test_any_broker_that_answers_will_do(dead_address: str) -> None:
    with broker() as b:
        connections = Connections(f"{dead_address}, PLAINTEXT://{b.bootstrap}", 10)
        assert connections.ask(MetadataRequest(topics=[])).brokers
        host, _, port = b.bootstrap.rpartition(":")
        first = connections.get((host, int(port)))
        assert first is not None
        assert connections.ask(MetadataRequest(topics=[]), (host, int(port))).brokers
        assert connections.get((host, int(port))) is first
        connections.close()
        assert connections.get((host, int(port))) is None
        assert connections.ask(MetadataRequest(topics=[])).brokers
        connections.close()


def test_a_connection_that_is_lost_is_made_again() -> None:
    with broker() as b:
        connections = Connections(b.bootstrap, 10)
        connections.ask(MetadataRequest(topics=[]))
        b.restart()
        with pytest.raises(ConnectionLost, match=b.bootstrap):
            connections.ask(MetadataRequest(topics=[]), _address(b.bootstrap))
        assert connections.ask(MetadataRequest(topics=[]), _address(b.bootstrap)).brokers
        connections.close()


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def test_one_with_an_answer_under_way_is_closed_when_it_is_to_rest() -> None:
    with broker() as b:
        connections = Connections(b.bootstrap, 10)
        connections.ask(MetadataRequest(topics=[]))
        address = _address(b.bootstrap)
        connections.rest()
        open_one = connections.get(address)
        assert open_one is not None
        open_one.send_ahead(MetadataRequest(topics=[]))
        connections.rest()
        assert connections.get(address) is None


def test_all_that_do_not_answer_are_named(dead_address: str) -> None:
    with pytest.raises(ConnectionLost, match=f"{dead_address}: Connection refused"):
        Connections(f"{dead_address},127.0.0.1:1", 1).ask(MetadataRequest(topics=[]))
