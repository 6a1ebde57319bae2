"""An application under test: it reads orders and writes invoices, with librdkafka."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer


class App:
    """Copies each order to the invoices, then commits its offset."""

    def __init__(self, bootstrap: str, name: str = "app") -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "billing",
                "client.id": name,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 300,
            }
        )
        self.producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": name,
                "enable.idempotence": True,
                "socket.timeout.ms": 2000,
            }
        )
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def start(self) -> App:
        self.consumer.subscribe(["orders"])
        self._thread.start()
        return self

    def _work(self) -> None:
        while not self._ended.is_set():
            message = self.consumer.poll(0.05)
            if message is not None and message.error() is None:
                self.producer.produce("invoices", message.value())
                self.producer.flush(30)
                with suppress(KafkaException):  # it will be given the order again
                    self.consumer.commit(message, asynchronous=False)

    def place(self, order: str) -> None:
        self.producer.produce("orders", order)
        self.producer.flush(30)

    def stop(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self.consumer.close()


@pytest.fixture
def k(kafkalite: Any) -> Any:
    """A cluster of the test's own, with the two topics."""
    kafkalite.create_topic("orders")
    kafkalite.create_topic("invoices")
    return kafkalite


@pytest.fixture
def start_app(k: Any) -> Iterator[Callable[..., App]]:
    """Starts the application; it is stopped after the test."""
    started: list[App] = []

    def start(name: str = "app") -> App:
        started.append(App(k.bootstrap, name).start())
        return started[-1]

    yield start
    k.faults.clear()
    for app in started:
        app.stop()


@pytest.fixture
def app(k: Any) -> Iterator[App]:
    """The application, which does not read yet."""
    app = App(k.bootstrap)
    yield app
    k.faults.clear()
    app.stop()
