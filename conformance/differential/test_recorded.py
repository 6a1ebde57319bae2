"""What real clients ask Apache Kafka, recorded, then asked of both.

The recordings are made when they are needed: it takes seconds, and they are of the clients installed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import aiokafka
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as PythonPartition

from conformance.differential.pair import Pair
from conformance.differential.replay import RECORDED, Replay
from conformance.harness.recording_proxy import RecordingProxy

SECONDS = 30


def made(bootstrap: str, topic: str, partitions: int = 2) -> str:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(SECONDS)
    return topic


def librdkafka(bootstrap: str, name: str) -> None:
    """Every codec, a group that commits, a transaction."""
    topic = made(bootstrap, name)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec})
        producer.produce(topic, f"value {codec}" * 9, key="k")
        assert producer.flush(SECONDS) == 0
    transactional = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    transactional.init_transactions(SECONDS)
    for commit in (True, False):
        transactional.begin_transaction()
        transactional.produce(topic, "in a transaction", key="k")
        if commit:
            offsets = [TopicPartition(topic, 0, 1)]
            consumer = consuming(bootstrap, name)
            metadata = consumer.consumer_group_metadata()
            transactional.send_offsets_to_transaction(offsets, metadata, SECONDS)
            transactional.commit_transaction(SECONDS)
            consumer.close()
        else:
            transactional.abort_transaction(SECONDS)
    consumer = consuming(bootstrap, f"{name}-group")
    consumer.subscribe([topic])
    for _ in range(6):
        message = consumer.poll(SECONDS)
        assert message is not None
        assert message.error() is None
    consumer.commit(asynchronous=False)
    consumer.close()


def consuming(bootstrap: str, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )


def kafka_python(bootstrap: str, name: str) -> None:
    topic = made(bootstrap, name)
    producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type="gzip")
    for number in range(5):
        producer.send(topic, b"value %d" % number, partition=number % 2)
    producer.flush()
    producer.close()
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=f"{name}-group", enable_auto_commit=False
    )
    partitions = [PythonPartition(topic, index) for index in (0, 1)]
    consumer.assign(partitions)
    consumer.seek_to_beginning(*partitions)
    seen = 0
    deadline = time.monotonic() + SECONDS
    while seen < 5 and time.monotonic() < deadline:
        seen += sum(map(len, consumer.poll(timeout_ms=200).values()))
    assert seen == 5
    consumer.commit()
    consumer.close()


def aiokafka_(bootstrap: str, name: str) -> None:
    topic = made(bootstrap, name)

    async def run() -> None:
        producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True)
        await producer.start()
        for number in range(3):
            await producer.send_and_wait(topic, b"value %d" % number, key=b"k")
        await producer.stop()

    asyncio.run(run())


CLIENTS: dict[str, Callable[[str, str], None]] = {
    "librdkafka": librdkafka,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka_,
}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_recording(pair: Pair, unique: Callable[[str], str], client: str) -> None:
    name = unique(RECORDED.removesuffix("-"))
    proxy = RecordingProxy(pair.reference.addresses[0])
    try:
        CLIENTS[client](proxy.bootstrap, name)
    finally:
        proxy.close()
    pair.count_for("recorded")
    begun = time.monotonic()
    Replay(pair).tell(list(proxy.passed))
    pair.tally.seconds += time.monotonic() - begun
    assert pair.tally.requests
    pair.count_for("scripts")
