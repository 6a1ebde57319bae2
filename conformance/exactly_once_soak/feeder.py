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
        number = 0
        while not self.enough.wait(1 / PER_SECOND):
            for topic, partition in self.written:
                self.producer.produce(
                    topic, b"%d" % number, partition=partition, on_delivery=self._delivered
                )
            number += 1
            self.producer.poll(0)
        if left := self.producer.flush(60):
            self.failure = f"{left} records were never acknowledged"

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failure = str(error)
        else:
            self.written[message.topic(), message.partition()] += 1
