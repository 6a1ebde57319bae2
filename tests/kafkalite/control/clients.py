"""librdkafka as the client of a broker for tests."""

from __future__ import annotations

import threading
from typing import Any, Self

from confluent_kafka import Consumer, KafkaError, Producer


def producer(k: Any, **configs: Any) -> Producer:
    return Producer(
        {"bootstrap.servers": k.bootstrap, "client.id": "app", "linger.ms": 0, **configs}
    )


def produced(k: Any, topic: str = "t", *values: bytes, **configs: Any) -> list[KafkaError | None]:
    """Says what librdkafka says of each record."""
    errors: list[KafkaError | None] = []
    with_errors = producer(k, **{"socket.timeout.ms": 2000, **configs})
    for value in values or (b"v",):
        with_errors.produce(topic, value, on_delivery=lambda failed, _: errors.append(failed))
        with_errors.flush(10)
    return errors


def consumer(k: Any, group: str = "g", **configs: Any) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": k.bootstrap,
            "group.id": group,
            "client.id": "reader",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            **configs,
        }
    )


class Polling:
    """A consumer polled by a thread, as an application does."""

    def __init__(self, made: Consumer, topic: str) -> None:
        self.consumer = made
        self.values: list[bytes] = []
        self.assignments = 0
        self._ended = threading.Event()
        made.subscribe([topic], on_assign=self._assigned)
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def _assigned(self, *_: object) -> None:
        self.assignments += 1

    def _poll(self) -> None:
        while not self._ended.is_set():
            message = self.consumer.poll(0.05)
            if message is not None and message.error() is None:
                self.values.append(message.value())

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._thread.join()
        self.consumer.close()
