"""Each task is a producer of its own."""

from __future__ import annotations

import socket

import pytest

from kafkalite.spark.client import Client
from kafkalite.spark.errors import BrokerError
from kafkalite.spark.producer_id import new_producer
from kafkalite.testing import broker


def test_ids_are_new_and_not_transactional() -> None:
    with broker() as b, Client(b.bootstrap) as client:
        first, second = new_producer(client), new_producer(client)
    assert first.producer_id != second.producer_id
    assert min(first.producer_id, second.producer_id) >= 0
    assert (first.producer_epoch, first.is_transactional) == (0, False)


def test_without_a_broker_there_is_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        dead = f"127.0.0.1:{listener.getsockname()[1]}"
    with (
        Client(dead, retry_seconds=0) as client,
        pytest.raises(BrokerError, match=f"producer id: given up .*{dead}"),
    ):
        new_producer(client)
