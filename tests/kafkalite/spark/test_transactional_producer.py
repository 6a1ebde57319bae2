"""A transaction of one producer epoch: it is ended as it says, and a new epoch fences it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from kafkalite.spark.client import Client, TopicPartition
from kafkalite.spark.encode import encode_batches
from kafkalite.spark.errors import BrokerError
from kafkalite.spark.transactional_producer import Transaction
from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode

TIMEOUT_MS = 60_000
FIRST: TopicPartition = ("t", 0)


@pytest.fixture(scope="module")
def running() -> Iterator[broker]:
    with broker() as b:
        b.create_topic("t", partitions=2)
        yield b


@pytest.fixture
def client(running: broker) -> Iterator[Client]:
    with Client(running.bootstrap, retry_seconds=5) as made:
        yield made


def write(client: Client, transaction: Transaction, partition: TopicPartition) -> None:
    [batch] = encode_batches(
        pa.nulls(1, pa.binary()),
        pa.array([b"v"]),
        np.array([1_700_000_000_000]),
        producer=transaction.producer,
        base_sequence=0,
    )
    client.produce(partition, batch.data, transactional_id=transaction.transactional_id)


def committed(running: broker) -> int:
    return len(running.records("t", committed=True))


@pytest.mark.parametrize("commit", [True, False])
def test_it_ends_as_it_says(running: broker, client: Client, commit: bool) -> None:
    before = committed(running)
    transaction = Transaction.begin(client, f"end-{commit}", TIMEOUT_MS)
    assert transaction.producer.is_transactional
    for partition in (FIRST, ("t", 1)):
        transaction.add(partition)
        write(client, transaction, partition)
    assert committed(running) == before
    transaction.end(commit=commit)
    running.wait.transaction(f"end-{commit}", "CompleteCommit" if commit else "CompleteAbort")
    assert committed(running) == before + (2 if commit else 0)


def test_it_knows_what_it_has_written(client: Client) -> None:
    transaction = Transaction.begin(client, "written", TIMEOUT_MS)
    transaction.add(FIRST)
    assert not transaction.has_written(FIRST)
    write(client, transaction, FIRST)
    assert transaction.has_written(FIRST)
    assert not transaction.has_written(("t", 1))
    transaction.end(commit=False)
    following = Transaction.begin(client, "written", TIMEOUT_MS)
    assert not following.has_written(FIRST)


def test_a_new_epoch_fences_the_last_and_ends_what_it_left_open(
    running: broker, client: Client
) -> None:
    before = committed(running)
    first = Transaction.begin(client, "fenced", TIMEOUT_MS)
    first.add(FIRST)
    write(client, first, FIRST)
    second = Transaction.begin(client, "fenced", TIMEOUT_MS)
    assert second.producer != first.producer
    with pytest.raises(BrokerError) as refused:
        first.end(commit=True)
    assert refused.value.code in (ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED)
    with pytest.raises(BrokerError):
        first.add(("t", 1))
    second.add(FIRST)
    write(client, second, FIRST)
    second.end(commit=True)
    running.wait.transaction("fenced", "CompleteCommit")
    assert committed(running) == before + 1
