"""Requests of the tests here, with librdkafka."""

import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

SECONDS = 30.0

# Offset, key, value, headers: everything but the timestamp.
Row = tuple[int, bytes | None, bytes | None, Any]


def create(bootstrap: str, name: str, partitions: int = 1, **configs: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    config = {key.replace("_", "."): value for key, value in configs.items()}
    admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result(SECONDS)


def producer(bootstrap: str, **settings: Any) -> Producer:
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "linger.ms": 1,
            **{key.replace("_", "."): value for key, value in settings.items()},
        }
    )


def read(
    bootstrap: str, topic: str, partition: int = 0, isolation: str = "read_committed"
) -> list[Row]:
    """The partition from its start to its end, as a consumer sees it."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0)])
    rows: list[Row] = []
    deadline = time.monotonic() + SECONDS
    while True:
        assert time.monotonic() < deadline
        message = consumer.poll(0.2)
        if message is None:
            continue
        error = message.error()
        if error is None:
            row = (message.offset(), message.key(), message.value(), message.headers())
            rows.append(row)
        elif error.code() == KafkaError._PARTITION_EOF:
            consumer.close()
            return rows


def commit(bootstrap: str, group: str, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def committed(bootstrap: str, group: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    [found] = consumer.committed([TopicPartition(topic, 0)], timeout=SECONDS)
    consumer.close()
    return int(found.offset)
