"""Shared by the scenarios: topics made beforehand, clients that are closed afterwards."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.differential.wait_ready import wait_until_settled
from conformance.harness.broker import Broker

SECONDS = 15
CreateTopic = Callable[..., str]


@pytest.fixture(scope="session")
def admin(broker: Broker) -> AdminClient:
    # it outlives the broker, and need not tell
    return AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})


@pytest.fixture
def create_topic(broker: Broker, admin: AdminClient, unique: Callable[[str], str]) -> CreateTopic:
    """`create_topic(partitions=1, **{"retention.ms": "1000"})`: the new topic's name."""

    def create(partitions: int = 1, **configs: str) -> str:
        name = unique("topic")
        new = NewTopic(name, num_partitions=partitions, replication_factor=1, config=configs)
        admin.create_topics([new])[name].result(SECONDS)
        deadline = time.monotonic() + SECONDS
        while len(admin.list_topics(name, SECONDS).topics[name].partitions) < partitions:
            assert time.monotonic() < deadline  # Apache Kafka's brokers learn of it a little later
        wait_until_settled(broker)  # and only then have its logs
        return name

    return create


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    """`closing.callback(client.close)`: closed when the test ends, however it ends."""
    with ExitStack() as stack:
        yield stack
