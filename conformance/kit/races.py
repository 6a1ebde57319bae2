"""Waits raced against what they wait for, and a cluster that is reset under load many times."""

from __future__ import annotations

import gc
import os
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import trio
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from conformance.kit.bars import resident_mb
from kafkalite.testing import broker

# A wait looks again so often, whatever wakes it: half of it, and a busy machine's delay.
MOST_LATE_SECONDS = 5.0
# More memory than this is not what an allocator keeps for later.
MOST_MB = 20
# Each reset cuts connections: librdkafka would write a line, and wait longer each time, up to ten
# seconds, before it connects again.
QUIET = {"log_level": 0, "reconnect.backoff.max.ms": 500}


async def race_waits(races: int, seed: int = 1) -> float:
    """A record comes at a random moment around the beginning of a wait for it.

    Returns the longest that a wait took after its record was there. Raises AssertionError for one
    that was missed.
    """
    luck = random.Random(seed)
    latest = 0.0
    async with broker(profile="test") as k:
        kit = k.asynchronous
        await kit.create_topic("t")
        for number in range(1, races + 1):
            there = 0.0

            async def produce(turns: int) -> None:
                nonlocal there
                for _ in range(turns):
                    await trio.lowlevel.checkpoint()
                await kit.produce("t", "v")
                there = time.perf_counter()

            async with trio.open_nursery() as nursery:
                nursery.start_soon(produce, luck.randrange(20))
                for _ in range(luck.randrange(20)):
                    await trio.lowlevel.checkpoint()
                waited = await kit.wait.records("t", number, timeout="30s")
                met = time.perf_counter()
            assert waited.seen == {"records": number}
            latest = max(latest, met - there)
    assert latest < MOST_LATE_SECONDS, latest
    return latest


@dataclass(frozen=True)
class Held:
    """The holdings of a process: open files and sockets, tasks of its loop, memory in MB."""

    descriptors: int
    tasks: int
    memory_mb: float

    def has_grown_to(self, last: Held) -> bool:
        """True if more is held in the end; memory moves by a few MB."""
        return (
            last.descriptors > self.descriptors
            or last.tasks > self.tasks
            or last.memory_mb > self.memory_mb + MOST_MB
        )


def race_resets(resets: int) -> Iterator[Held]:
    """Resets under a producer and a consumer. Each record has a number of its own.

    Yields what is held after the first resets, and after all. Raises AssertionError for a record
    that was acknowledged before a reset and is there after it.
    """
    # A client that asks for the topic just after a reset must not be the one that makes it.
    with broker({"auto.create.topics.enable": "false"}, profile="test") as k:
        ended = threading.Event()
        acknowledged: set[str] = set()
        writing = threading.Thread(target=_write, args=(k.bootstrap, acknowledged, ended))
        reading = threading.Thread(target=_read, args=(k.bootstrap, ended))
        writing.start()
        reading.start()
        try:
            for number in range(1, resets + 1):
                before = set(acknowledged)
                k.reset()
                k.create_topic("t")
                if number % 10 == 0:
                    k.wait.records("t", 1, timeout="60s")
                    after = {record.value for record in k.records("t", count=100)}
                    assert not before & after, (number, before & after)
                acknowledged -= before
                if number == min(100, resets // 2 + 1):
                    yield held(k)
            assert writing.is_alive()
            assert reading.is_alive()
        finally:
            ended.set()
            writing.join()
            reading.join()
        k.reset()
        yield held(k)


def held(k: broker) -> Held:
    """The holdings of this process when nothing is under way."""
    time.sleep(1)
    gc.collect()
    tasks = k._call(lambda: trio.lowlevel.current_statistics().tasks_living)
    return Held(len(os.listdir("/proc/self/fd")), tasks, resident_mb())


def _write(bootstrap: str, acknowledged: set[str], ended: threading.Event) -> None:
    producer = Producer(
        {**QUIET, "bootstrap.servers": bootstrap, "linger.ms": 0, "message.timeout.ms": 500}
    )

    def told(error: KafkaError | None, message: Message) -> None:
        if error is None:
            acknowledged.add((message.value() or b"").decode())

    for number in count(1):
        if ended.is_set():
            break
        try:
            producer.produce("t", str(number), on_delivery=told)
        except KafkaException as error:
            # It asked between a reset and the new topic.
            if error.args[0].code() != KafkaError._UNKNOWN_TOPIC:
                raise
        producer.poll(0.002)
        if len(producer) > 100:
            producer.flush(1)


def _read(bootstrap: str, ended: threading.Event) -> None:
    consumer = Consumer({**QUIET, "bootstrap.servers": bootstrap, "group.id": "g"})
    consumer.subscribe(["t"])
    while not ended.is_set():
        consumer.poll(0.05)
    consumer.close()
