"""The clients, a process each: `python -m conformance.soak.clients KIND BOOTSTRAP SECONDS`.

Each ends by itself, and fails when anything that it asked for was not done.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer, KafkaProducer

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import encode_request
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalite.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic

REST_SECONDS: Final = 0.02
PATIENCE_SECONDS: Final = 120.0
LARGEST: Final = 10_000
HUGE: Final = 100_000


def _goes_on(until: float, read: int) -> bool:
    """On a busy machine a consumer may take long to join: wait for its first records."""
    now = time.monotonic()
    return now < until or (not read and now < until + PATIENCE_SECONDS)


def librdkafka(bootstrap: str, until: float) -> None:
    """Produce and consume in a group, a member of which comes and goes."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    read = 0
    while _goes_on(until, read):
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "librdkafka",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe(["librdkafka"])
        for _ in range(100):
            producer.produce("librdkafka", b"x" * 1000, key=b"%d" % read)
            producer.poll(0)
            message = consumer.poll(REST_SECONDS)
            read += message is not None and message.error() is None
        assert not producer.flush(PATIENCE_SECONDS)
        consumer.close()
    assert read


def transactions(bootstrap: str, until: float) -> None:
    """Transactions, each aborted one followed by two that are committed."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "soak"})
    producer.init_transactions(PATIENCE_SECONDS)
    number = 0
    while time.monotonic() < until:
        producer.begin_transaction()
        for partition in range(3):
            producer.produce("transactions", b"%d" % number, partition=partition)
        if number % 3:
            producer.commit_transaction(PATIENCE_SECONDS)
        else:
            producer.abort_transaction(PATIENCE_SECONDS)
        number += 1
        time.sleep(REST_SECONDS)


def kafka_python(bootstrap: str, until: float) -> None:
    """Produce and consume in a group."""
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    consumer = KafkaConsumer(
        "kafka-python",
        bootstrap_servers=bootstrap,
        group_id="kafka-python",
        auto_offset_reset="earliest",
    )
    read = 0
    while _goes_on(until, read):
        for _ in range(20):
            producer.send("kafka-python", b"x" * 500)
        producer.flush(PATIENCE_SECONDS)
        read += sum(map(len, consumer.poll(timeout_ms=100).values()))
    consumer.close()
    producer.close()
    assert read


def aiokafka(bootstrap: str, until: float) -> None:
    """Produce and consume in a group."""
    asyncio.run(_aiokafka(bootstrap, until))


async def _aiokafka(bootstrap: str, until: float) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    consumer = AIOKafkaConsumer(
        "aiokafka", bootstrap_servers=bootstrap, group_id="aiokafka", auto_offset_reset="earliest"
    )
    read = 0
    async with producer, consumer:
        while _goes_on(until, read):
            for _ in range(20):
                await producer.send("aiokafka", b"x" * 500)
            await producer.flush()
            read += sum(map(len, (await consumer.getmany(timeout_ms=100)).values()))
    assert read


def huge(bootstrap: str, until: float) -> None:
    """Requests for very many things that there are not, and one that is cut short."""
    host, _, port = bootstrap.rpartition(":")
    while time.monotonic() < until:
        for key, version, request in _huge_requests():
            frame = join(encode_request(key, version, 1, "huge", request))
            with socket.create_connection((host, int(port)), PATIENCE_SECONDS) as client:
                client.sendall(frame)
                left = int.from_bytes(client.recv(4, socket.MSG_WAITALL))
                assert left > 10 * HUGE
                while left:
                    received = len(client.recv(min(left, 1 << 20)))
                    assert received
                    left -= received
            broken = (len(frame) - 54).to_bytes(4) + frame[4:-50]
            with socket.create_connection((host, int(port)), PATIENCE_SECONDS) as client:
                client.sendall(broken)
                assert client.recv(1) == b"", "it is refused"
            time.sleep(REST_SECONDS)


def _huge_requests() -> Iterator[tuple[int, int, object]]:
    names = [f"none-{number}" for number in range(HUGE)]
    topics = [MetadataRequestTopic(name=each) for each in names]
    yield ApiKey.METADATA, 12, MetadataRequest(topics, allow_auto_topic_creation=False)
    partitions = [DeleteRecordsPartition(partition_index=each) for each in range(HUGE)]
    topic = DeleteRecordsTopic(name="none", partitions=partitions)
    yield ApiKey.DELETE_RECORDS, 2, DeleteRecordsRequest(topics=[topic])
    resources = [
        DescribeConfigsResource(resource_type=2, resource_name=each, configuration_keys=[])
        for each in names
    ]
    yield ApiKey.DESCRIBE_CONFIGS, 4, DescribeConfigsRequest(resources=resources)


def topics(bootstrap: str, until: float) -> None:
    """Topics come and go: one of 10,000 compacted partitions, hundreds of one, some that grow."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    compacted = {"cleanup.policy": "compact"}
    sizes = [LARGEST, 1000, 100, 10]
    number = 0
    while time.monotonic() < until:
        size = sizes[number % len(sizes)]
        count = 200 if size == sizes[-1] else 1
        new = [
            NewTopic(f"t-{number}-{each}", size if count == 1 else 1, 1, config=compacted)
            for each in range(count)
        ]
        _done(admin.create_topics(new, operation_timeout=PATIENCE_SECONDS))
        producer = Producer({"bootstrap.servers": bootstrap})
        for index in range(100):
            producer.produce(new[index % count].topic, b"v", key=b"%d" % index)
        assert not producer.flush(PATIENCE_SECONDS)
        admin.list_topics(timeout=PATIENCE_SECONDS)
        # Cleaner, retention, checkpoints: with so many logs.
        time.sleep(6 if size == LARGEST else 1)
        names = [each.topic for each in new]
        _done(admin.delete_topics(names, operation_timeout=PATIENCE_SECONDS))
        number += 1


def _done(futures: Mapping[str, Any]) -> None:
    for future in futures.values():
        future.result(PATIENCE_SECONDS)


KINDS: Final[Mapping[str, Callable[[str, float], None]]] = {
    each.__name__: each for each in (librdkafka, transactions, kafka_python, aiokafka, topics, huge)
}

if __name__ == "__main__":
    kind, bootstrap_servers, seconds = sys.argv[1:]
    KINDS[kind](bootstrap_servers, time.monotonic() + float(seconds))
