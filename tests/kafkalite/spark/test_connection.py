"""A request sent ahead, connections that go on serving, and a peer that is no broker."""

import socket
import threading
import tracemalloc

import pytest

from kafkalite.spark.client import Client
from kafkalite.spark.connection import Connection, ConnectionLost
from kafkalite.wire.api_keys import ApiKey
from tests.kafkalite.spark.filled_topic import BATCHES, PARTITION


def test_what_was_sent_ahead_is_not_asked_again(bootstrap: str, sent: list[ApiKey]) -> None:
    with Client(bootstrap) as client:
        client.fetch_ahead(PARTITION, 5)  # nobody is connected yet: nothing to do
        expected = bytes(client.fetch(PARTITION, 5).records)
        client.fetch_ahead(PARTITION, 5)
        assert sent.count(ApiKey.FETCH) == 2
        assert bytes(client.fetch(PARTITION, 5).records) == expected
        assert sent.count(ApiKey.FETCH) == 2


def test_another_question_throws_away_what_was_sent_ahead(
    bootstrap: str, sent: list[ApiKey]
) -> None:
    with Client(bootstrap) as client:
        client.fetch(PARTITION, 0)
        client.fetch_ahead(PARTITION, 10)
        assert client.list_offsets({PARTITION: -1})[PARTITION].offset == 5 * BATCHES
        assert int.from_bytes(client.fetch(PARTITION, 15).records[:8], "big") == 15
        client.fetch_ahead(PARTITION, 20)
        assert int.from_bytes(client.fetch(PARTITION, 0).records[:8], "big") == 0
        assert sent.count(ApiKey.FETCH) == 5


def test_who_is_no_broker_costs_no_memory() -> None:
    """A web server's answer begins with what is a length of 1.2 GB here."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)

    def serve() -> None:
        accepted, _ = listener.accept()
        with accepted:
            accepted.recv(100)
            accepted.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    tracemalloc.start()
    try:
        with pytest.raises(ConnectionLost, match="closed the connection"):
            Connection("127.0.0.1", listener.getsockname()[1], 10)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
        listener.close()
        thread.join(10)
