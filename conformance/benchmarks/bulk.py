"""Bulk in and out by librdkafka (bulk.c): bytes or records per second, and what they cost the
broker."""

from __future__ import annotations

import importlib.util
import subprocess
import uuid
from pathlib import Path

from conformance.benchmarks.compiled import LoadFailed, compiled
from conformance.benchmarks.sampling import (
    Side,
    cpu_seconds,
    create_topic,
    delete_topic,
    have_memory,
)
from conformance.harness.broker import Reached

KB = 1000
SECONDS = 300
QUICK = 50  # a quick run is so many times smaller


def librdkafka() -> Path:
    """The library that confluent-kafka brings along."""
    found = importlib.util.find_spec("confluent_kafka")
    assert found is not None
    assert found.origin is not None
    libraries = Path(found.origin).parent.parent / "confluent_kafka.libs"
    for path in sorted(libraries.glob("librdkafka*.so*")):
        return path
    raise LoadFailed(f"confluent-kafka has no librdkafka in {libraries}")


def launched(
    broker: Reached,
    verb: str,
    topic: str,
    first: int,
    count: int,
    records: int,
    *produced: object,
) -> subprocess.Popen[str]:
    """A generator under way: see bulk.c."""
    where = (broker.bootstrap, topic, first, count, records, *produced)
    command = [compiled("bulk", "-ldl"), librdkafka(), verb, *where]
    return subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def seconds_of(generators: list[subprocess.Popen[str]]) -> float:
    """From the first one's begin to the last one's end; raises LoadFailed."""
    began, ended = [], []
    for generator in generators:
        out, errors = generator.communicate(timeout=SECONDS)
        if generator.returncode != 0:
            raise LoadFailed(errors.strip())
        times = [int(word) for word in out.split()]
        began.append(times[0])
        ended.append(times[1])
    return (max(ended) - min(began)) / 1e6


class Produce:
    """One producer into a topic of four partitions."""

    def __init__(self, side: Side, *, codec: str, record_bytes: int, records: int) -> None:
        self.broker, self.codec, self.record_bytes = side.broker, codec, record_bytes
        self.directory = side.directory
        self.records = records // QUICK if side.quick else records
        self.run(self.records // 5)  # warm

    def run(self, records: int) -> tuple[float, float]:
        """Seconds, and CPU seconds of the broker."""
        topic = f"bulk-{uuid.uuid4().hex[:8]}"
        create_topic(self.broker, topic, 4)
        have_memory(self.directory, 3 * records * self.record_bytes)
        before = cpu_seconds(self.broker.pid)
        wanted = (topic, 0, 4, records, self.record_bytes, self.codec, 0)
        seconds = seconds_of([launched(self.broker, "produce", *wanted)])
        cpu = cpu_seconds(self.broker.pid) - before
        delete_topic(self.broker, topic)
        return seconds, cpu

    def sample(self) -> dict[str, float]:
        seconds, cpu = self.run(self.records)
        gigabytes = self.records * self.record_bytes / 1e9
        return {
            "MB/s": gigabytes * 1000 / seconds,
            "CPU s per GB": cpu / gigabytes,
            "thousand records/s": self.records / 1e3 / seconds,
            "CPU s per million records": cpu / self.records * 1e6,
        }

    def close(self) -> None:
        pass


class Consume:
    """A gigabyte in eight partitions, read from the beginning."""

    PARTITIONS = 8

    def __init__(self, side: Side, *, consumers: int) -> None:
        self.broker, self.consumers = side.broker, consumers
        self.records = 1_000_000 // (QUICK if side.quick else 1)
        self.topic = f"bulk-{uuid.uuid4().hex[:8]}"
        create_topic(self.broker, self.topic, self.PARTITIONS)
        wanted = (self.topic, 0, self.PARTITIONS, self.records, KB, "none", 0)
        seconds_of([launched(self.broker, "produce", *wanted)])
        self.sample()  # warm

    def sample(self) -> dict[str, float]:
        before = cpu_seconds(self.broker.pid)
        each = self.PARTITIONS // self.consumers
        # In turns of 64 records, no partition gets fewer than this.
        records = self.records // 64 // self.PARTITIONS * 64 * each
        consumers = [
            launched(self.broker, "consume", self.topic, number * each, each, records)
            for number in range(self.consumers)
        ]
        seconds = seconds_of(consumers)
        gigabytes = records * self.consumers * KB / 1e9
        cpu = cpu_seconds(self.broker.pid) - before
        return {"MB/s": gigabytes * 1000 / seconds, "CPU s per GB": cpu / gigabytes}

    def close(self) -> None:
        delete_topic(self.broker, self.topic)


class Both:
    """Eight producers, and eight consumers that follow them, each on four partitions."""

    PAIRS = 8
    PARTITIONS_EACH = 4

    def __init__(self, side: Side) -> None:
        self.broker, self.directory = side.broker, side.directory
        self.records = 100_000 // (QUICK if side.quick else 1)
        self.sample()  # warm

    def sample(self) -> dict[str, float]:
        topic = f"bulk-{uuid.uuid4().hex[:8]}"
        each = self.PARTITIONS_EACH
        create_topic(self.broker, topic, self.PAIRS * each)
        have_memory(self.directory, 3 * self.PAIRS * self.records * KB)
        before = cpu_seconds(self.broker.pid)
        generators = []
        for number in range(self.PAIRS):
            where = (topic, number * each, each, self.records)
            generators.append(launched(self.broker, "consume", *where))
            generators.append(launched(self.broker, "produce", *where, KB, "none", 0))
        seconds = seconds_of(generators)
        cpu = cpu_seconds(self.broker.pid) - before
        delete_topic(self.broker, topic)
        gigabytes = 2 * self.PAIRS * self.records * KB / 1e9
        return {"MB/s in + out": gigabytes * 1000 / seconds, "CPU s per GB": cpu / gigabytes}

    def close(self) -> None:
        pass
