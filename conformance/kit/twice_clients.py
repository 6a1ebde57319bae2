"""Clients that meet a fault: each producer gives a function that delivers a value, each reader
gives the values and the errors of a topic.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import queue
import selectors
import subprocess
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioKafkaPartition
from aiokafka.errors import KafkaError as AioKafkaError
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from kafka import KafkaConsumer, KafkaProducer
from kafka import TopicPartition as KafkaPythonPartition
from kafka.errors import CorruptRecordError
from kafka.errors import KafkaError as KafkaPythonError

from conformance.harness.asyncio_runs import all_closed
from conformance.harness.java_program import program_command
from conformance.harness.process import start_process

SOURCE = Path(__file__).parent / "Twice.java"
# An unanswered request is given up after so long; everything takes place at the same time.
REQUEST_SECONDS = 5
PATIENCE_SECONDS = 100

Outcome = dict[str, Any]
Deliver = Callable[[str], object]
Producing = Callable[[str, str], AbstractContextManager[Deliver]]
Reading = Callable[[str, str, int], Outcome]


def read_by_librdkafka(
    bootstrap: str, topic: str, wanted: int | None = None, *, partition: int = 0
) -> Outcome:
    """The values of a topic, up to its end or to the `wanted` number of them, and the errors."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "none",
            "enable.partition.eof": wanted is None,
            "check.crcs": True,
            "fetch.wait.max.ms": 100,
            "socket.timeout.ms": REQUEST_SECONDS * 1000,
        }
    )
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    values: list[str] = []
    errors: set[str] = set()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(values) != wanted and time.monotonic() < deadline:
        message = consumer.poll(0.1)
        if message is None:
            continue
        told = message.error()
        if told is None:
            values.append((message.value() or b"").decode())
        elif told.code() == KafkaError._PARTITION_EOF:
            break
        else:
            errors.add(told.name())
    consumer.close()
    return {"values": values, "errors": errors}


@contextmanager
def librdkafka(bootstrap: str, topic: str, *, idempotent: bool) -> Generator[Deliver]:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": idempotent,
            "linger.ms": 0,
            "socket.timeout.ms": REQUEST_SECONDS * 1000,
            "request.timeout.ms": REQUEST_SECONDS * 1000,
            "message.timeout.ms": PATIENCE_SECONDS * 1000,
        }
    )

    def deliver(value: str) -> object:
        told: list[object] = []

        def delivered(failure: KafkaError | None, message: Any) -> None:
            told.append(message.offset() if failure is None else failure.name())

        producer.produce(topic, value, on_delivery=delivered)
        producer.flush(PATIENCE_SECONDS)
        return told

    yield deliver


@contextmanager
def kafka_python(bootstrap: str, topic: str) -> Generator[Deliver]:
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        enable_idempotence=False,
        acks="all",
        retries=20,
        request_timeout_ms=REQUEST_SECONDS * 1000,
        delivery_timeout_ms=PATIENCE_SECONDS * 1000,
    )

    def deliver(value: str) -> object:
        return delivered(producer.send(topic, value.encode()))

    yield deliver
    producer.close()


def delivered(sent: Any) -> object:
    """The offset of what kafka-python has sent, or the error."""
    try:
        return sent.get(PATIENCE_SECONDS).offset
    except KafkaPythonError as failure:
        return type(failure).__name__


def read_by_kafka_python(bootstrap: str, topic: str, wanted: int) -> Outcome:
    """The values of a topic up to the `wanted` number of them, and the errors."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=None,
        fetch_max_wait_ms=100,
        request_timeout_ms=REQUEST_SECONDS * 1000,
    )
    partition = KafkaPythonPartition(topic, 0)
    consumer.assign([partition])
    consumer.seek_to_beginning(partition)
    values: list[str] = []
    errors: set[str] = set()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(values) < wanted and time.monotonic() < deadline:
        try:
            records = consumer.poll(100).get(partition, [])
        except KafkaPythonError as failure:
            errors.add(type(failure).__name__)
            if isinstance(failure, CorruptRecordError):
                break  # kafka-python 3.0 does not return from the next poll, whatever the broker
        else:
            values += [record.value.decode() for record in records]
    consumer.close()
    return {"values": values, "errors": errors}


class JavaClients:
    """Kafka's own clients, in one process for all faults."""

    def __init__(self) -> None:
        """Raises JavaMissing and JarsMissing."""
        milliseconds = {"REQUEST_MS": REQUEST_SECONDS, "PATIENCE_MS": PATIENCE_SECONDS}
        self._process = start_process(
            program_command(SOURCE, "-Xmx512m"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **{name: str(each * 1000) for name, each in milliseconds.items()}},
        )
        self._numbers = itertools.count()
        self._told: dict[str, queue.Queue[str]] = {}
        self._lock = threading.Lock()
        self._hearing = threading.Thread(target=self._hear, daemon=True)
        self._hearing.start()

    def _hear(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            name, _, told = line.rstrip("\n").partition(" ")
            self._told[name].put(told)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE_SECONDS)
        self._hearing.join()
        self._process.stdout.close()

    def _ask(self, word: str, name: str, *words: str) -> str:
        assert self._process.stdin is not None
        self._told.setdefault(name, queue.Queue())
        with self._lock:
            self._process.stdin.write(" ".join((word, name, *words)) + "\n")
            self._process.stdin.flush()
        told = self._told[name].get(timeout=2 * PATIENCE_SECONDS)
        assert not told.startswith("THREW "), f"{word}: {told}"
        return told

    @contextmanager
    def producer(self, bootstrap: str, topic: str, *, idempotent: bool) -> Generator[Deliver]:
        name = f"{'idempotent' if idempotent else 'plain'}-{next(self._numbers)}"

        def deliver(value: str) -> object:
            return self._ask("PRODUCE", name, bootstrap, topic, value.replace(" ", "_"))

        yield deliver
        # Its broker may be gone: it would go on to look for it.
        self._ask("CLOSE", name)

    def asking(self, kind: str) -> Callable[..., str]:
        """Asks a client of its own: with a word, and what that word takes."""
        name = f"{kind}-{next(self._numbers)}"
        return lambda word, *words: self._ask(word, name, *words)

    def read(self, bootstrap: str, topic: str, wanted: int) -> Outcome:
        told = self._ask("READ", f"reader-{next(self._numbers)}", bootstrap, topic, str(wanted))
        values, _, errors = told.partition("|")
        return {"values": values.split(","), "errors": set(filter(None, errors.split(",")))}


class AioKafkaClients:
    """aiokafka's, all in one loop in a thread, as its tasks go on between deliveries."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._loop = asyncio.SelectorEventLoop(self._selector)
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def close(self) -> None:
        self._do(all_closed(self._selector))
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, doing: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result(2 * PATIENCE_SECONDS)

    @contextmanager
    def producer(self, bootstrap: str, topic: str) -> Generator[Deliver]:
        async def made() -> AIOKafkaProducer:
            producer = AIOKafkaProducer(
                bootstrap_servers=bootstrap, acks="all", request_timeout_ms=REQUEST_SECONDS * 1000
            )
            await producer.start()
            return producer

        producer = self._do(made())

        def deliver(value: str) -> object:
            try:
                return self._do(producer.send_and_wait(topic, value.encode())).offset
            except AioKafkaError as failure:
                return type(failure).__name__

        yield deliver
        self._do(producer.stop())

    def read(self, bootstrap: str, topic: str, wanted: int) -> Outcome:
        """The values of a topic up to the `wanted` number of them, and the errors."""
        return cast("Outcome", self._do(_read_by_aiokafka(bootstrap, topic, wanted)))


async def _read_by_aiokafka(bootstrap: str, topic: str, wanted: int) -> Outcome:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        fetch_max_wait_ms=100,
        request_timeout_ms=REQUEST_SECONDS * 1000,
    )
    await consumer.start()
    partition = AioKafkaPartition(topic, 0)
    consumer.assign([partition])
    await consumer.seek_to_beginning(partition)
    values: list[str] = []
    errors: set[str] = set()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(values) < wanted and time.monotonic() < deadline:
        try:
            records = (await consumer.getmany(timeout_ms=100)).get(partition, [])
        except AioKafkaError as failure:
            errors.add(type(failure).__name__)
        else:
            values += [record.value.decode() for record in records]
    await consumer.stop()
    return {"values": values, "errors": errors}
