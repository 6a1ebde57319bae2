"""The ordinary client beside Spark (librdkafka): makes topics, fills them, reads them back."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    NewPartitions,
    NewTopic,
)

SECONDS = 60.0

Header = tuple[str, bytes | None]

# For records that are years old: retention would take them as soon as it looks.
KEEP = {"retention_ms": "-1"}


def eventually(condition: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Ask until it is so; fails when it is not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not so after {seconds} s"
        time.sleep(0.05)


def number(value: bytes | bytearray | str) -> int:
    """A value that is a number, perhaps behind very many zeros."""
    return int(value[-9:])


class Client:
    """Every call is whole: what it sent is acknowledged, what it made is usable."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.admin = AdminClient(self.common)

    @property
    def common(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.bootstrap}

    def create(self, topic: str, partitions: int = 1, **config: str) -> None:
        """Names in `config` have underscores for dots."""
        dotted = {name.replace("_", "."): value for name, value in config.items()}
        new = NewTopic(topic, partitions, replication_factor=1, config=dotted)
        self.admin.create_topics([new])[topic].result(SECONDS)
        eventually(lambda: self.partition_count(topic) == partitions)

    def delete(self, topic: str) -> None:
        self.admin.delete_topics([topic])[topic].result(SECONDS)
        eventually(lambda: self.partition_count(topic) == 0)

    def grow(self, topic: str, partitions: int) -> None:
        """Add partitions, up to `partitions`."""
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(SECONDS)
        eventually(lambda: self.partition_count(topic) == partitions)

    def partition_count(self, topic: str) -> int:
        """The number of partitions with a leader. Asks about all topics, so that none is
        created."""
        described = self.admin.list_topics(timeout=SECONDS).topics.get(topic)
        if described is None or described.error is not None:
            return 0
        return sum(partition.leader >= 0 for partition in described.partitions.values())

    def send(
        self,
        topic: str,
        values: Iterable[object],
        partition: int = 0,
        *,
        key: bytes | None = None,
        timestamp_ms: int = 0,
        headers: Sequence[Header] | None = None,
        compression: str = "none",
    ) -> None:
        """Send the values as text, None as null; returns when all are acknowledged."""
        producer = Producer({**self.common, "linger.ms": 5, "compression.type": compression})
        acknowledged: list[object] = []
        sent = [None if value is None else str(value).encode() for value in values]
        for value in sent:
            producer.produce(
                topic,
                value,
                key,
                partition,
                timestamp=timestamp_ms,
                headers=list(headers) if headers is not None else None,
                on_delivery=lambda error, _message: acknowledged.append(error),
            )
        producer.flush(SECONDS)
        assert acknowledged == [None] * len(sent)

    def transactional_producer(self, transactional_id: str) -> Producer:
        producer = Producer({**self.common, "transactional.id": transactional_id})
        producer.init_transactions(SECONDS)
        return producer

    def read(self, topic: str) -> list[Message]:
        """All committed messages from the beginning, by partition and offset."""
        consumer = Consumer(
            {
                **self.common,
                "group.id": "reads-back",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        try:
            partitions = range(self.partition_count(topic))
            consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in partitions])
            messages: list[Message] = []
            unfinished = set(partitions)
            deadline = time.monotonic() + SECONDS
            while unfinished:
                assert time.monotonic() < deadline, f"no end in partitions {unfinished}"
                for message in consumer.consume(1000, timeout=0.5):
                    error = message.error()
                    if error is None:
                        messages.append(message)
                    else:
                        assert error.name() == "_PARTITION_EOF", error
                        unfinished.discard(message.partition())
        finally:
            consumer.close()
        return sorted(messages, key=lambda each: (each.partition(), each.offset()))

    def numbers(self, topic: str) -> list[int]:
        """The values of `read`, which are numbers, sorted."""
        return sorted(number(message.value() or b"") for message in self.read(topic))


def transact(producer: Producer, topic: str, values: Iterable[int], *, commit: bool = True) -> None:
    """One transaction, begun and ended, all into partition 0."""
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, str(value).encode(), partition=0)
    assert producer.flush(SECONDS) == 0
    if commit:
        producer.commit_transaction(SECONDS)
    else:
        producer.abort_transaction(SECONDS)
