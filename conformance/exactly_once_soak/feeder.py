"""The records to copy: numbers from 0 on into every partition, by an idempotent producer."""

from __future__ import annotations

import threading

from confluent_kafka import KafkaError, Message, Producer

PER_SECOND = 40


class Feeder(threading.Thread):
    """Writes steadily; `written` counts, by partition, what was acknowledged."""

    def __init__(self, bootstrap: str, topics: list[str], partition_count: int) -> None:
        super().__init__(daemon=True)
        self.written = {(topic, i): 0 for topic in topics for i in range(partition_count)}
        self.failure: str | None = None
        self.enough = threading.Event()
        self._number = 0
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "delivery.timeout.ms": 600_000,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        while not self.enough.wait(1 / PER_SECOND):
            self._produce()
            self.producer.poll(0)
        self._flush()

    def feed_one_more(self) -> None:
        """Another number into every partition, after the thread has ended."""
        self._produce()
        self._flush()

    def _produce(self) -> None:
        for topic, partition in self.written:
            self.producer.produce(
                topic, b"%d" % self._number, partition=partition, on_delivery=self._delivered
            )
        self._number += 1

    def _flush(self) -> None:
        if left := self.producer.flush(60):
            self.failure = f"{left} records were never acknowledged"

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failure = str(error)
        else:
            self.written[message.topic(), message.partition()] += 1
