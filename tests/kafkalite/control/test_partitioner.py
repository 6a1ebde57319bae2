"""The partition of a key is the one that Kafka's producers choose."""

from __future__ import annotations

import random

import pytest
from confluent_kafka import Message

from kafkalite.control.partitioner import by_key, murmur2
from kafkalite.testing import broker
from tests.kafkalite.control.clients import producer


# The values of Kafka's own test of Utils.murmur2.
@pytest.mark.parametrize(
    ("data", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_the_hash_is_that_of_kafka(data: bytes, hashed: int) -> None:
    assert murmur2(data) == hashed % 2**32


def test_without_a_key_it_is_the_first() -> None:
    assert by_key(None, 7) == 0


def test_records_by_hand_are_where_a_producer_writes_them(k: broker) -> None:
    """librdkafka's partitioner of Java's hash is asked beside ours."""
    k.create_topic("t", partitions=7)
    keys = [random.Random(n).randbytes(n % 23) for n in range(60)]
    theirs: dict[bytes, int] = {}

    def delivered(_: object, message: Message) -> None:
        theirs[message.key() or b""] = message.partition() or 0

    client = producer(k, partitioner="murmur2")
    for key in keys:
        client.produce("t", b"v", key=key, on_delivery=delivered)
    client.flush(20)
    ours = {key: k.produce("t", "v", key=key, partition=None).places[0].partition for key in keys}
    assert ours == theirs
    assert len(set(ours.values())) == 7
