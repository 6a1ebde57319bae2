"""The ground of a measure: a broker of each kind, its processor time and memory, and a sampler."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from conformance.benchmarks.load import answer, request, run
from conformance.harness.broker import Broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import create_topics, delete_topics, list_offsets, produce
from kafkalite.wire.record_batch import Record, build_batch

# Deleted topics leave the disk soon, and no segment is rolled in mid-measure.
PROPERTIES = {
    "log.segment.delete.delay.ms": "1000",
    "group.min.session.timeout.ms": "1000",
    "group.max.session.timeout.ms": "1800000",
    # While the other broker is measured this one may be stopped.
    "broker.session.timeout.ms": "60000",
}

# The time of all records: retention would delete older ones.
TIMESTAMP = int(time.time() * 1000)
LEADER_SECONDS = 120.0
TOPICS_AT_ONCE = 100
AWAKE_SECONDS = 1.0
MEMORY_BLOCK = 1 << 20
MEMORY_TRIES = 5
MEMORY_SECONDS_PER_BYTE = 0.6e-9

NewBroker = Callable[[Path, Mapping[str, str] | None], Broker]


class NotHere(Exception):
    """Something that a measure needs is not on this machine, so that it is left out with a
    reason."""


class Sampler(Protocol):
    """One measure on one broker: made once, which prepares, then sampled in every round."""

    def sample(self) -> dict[str, float]:
        """The figures, by name."""
        ...

    def close(self) -> None:
        """Leave nothing behind that would disturb the next measure."""
        ...


@dataclass
class Side:
    """One kind of broker in a run. `broker` is shared by all measures, started at the first
    need."""

    kind: str
    new: NewBroker
    directory: Path
    quick: bool = False
    shared: Broker | None = None
    started: list[Broker] = field(default_factory=list)

    @property
    def broker(self) -> Broker:
        if self.shared is None:
            self.shared = self.start()
        return self.shared

    def start(
        self, properties: Mapping[str, str] | None = None, new: NewBroker | None = None
    ) -> Broker:
        """A new broker, to be stopped with `stop`, or at the end."""
        directory = self.directory / f"broker-{uuid.uuid4().hex[:8]}"
        broker = (new or self.new)(directory, {**PROPERTIES, **(properties or {})})
        self.started.append(broker)
        return broker

    def stop(self, broker: Broker) -> None:
        """End a broker; its files go with it."""
        self.started.remove(broker)
        broker.stop()
        for directory in self.directory.glob("broker-*"):
            if broker.data_dir.is_relative_to(directory):
                shutil.rmtree(directory, ignore_errors=True)

    def close(self) -> None:
        for broker in list(self.started):
            self.stop(broker)
        self.shared = None


@contextmanager
def still(sides: Iterable[Side]) -> Iterator[None]:
    """Stop these brokers' processes meanwhile; then let them do what they have missed."""
    pids = [broker.pid for side in sides for broker in side.started]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        time.sleep(AWAKE_SECONDS)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, from /proc."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def thread_seconds(pid: int) -> float:
    """Processor time of a process's living threads, to the nanosecond, from /proc."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def have_memory(directory: Path, size: int) -> None:
    """Let the next `size` bytes that go into the page cache find their pages there.

    A virtual machine's free memory may have gone back to its host, and whoever fills the page cache
    next waits while the host finds it again: seconds for a gigabyte, in one round and not in the
    next. So a file of that size is written and removed, until it takes no longer than copying does.
    """
    block = os.urandom(MEMORY_BLOCK)
    for _ in range(MEMORY_TRIES):
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            began = time.perf_counter()
            for _ in range(size // MEMORY_BLOCK):
                file.write(block)
            if time.perf_counter() - began < size * MEMORY_SECONDS_PER_BYTE:
                return


def resident_bytes(pid: int) -> int:
    """Memory of a process that is really there."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def ask(bootstrap: str, api_key: ApiKey, version: int, body: Any) -> Any:
    """One request, once."""
    return answer(api_key, version, run(bootstrap, request(api_key, version, body), seconds=0))


def create_topic(
    broker: Broker, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None
) -> uuid.UUID:
    """A topic, new; its id."""
    return create_all(broker, [name], partitions, configs)[0]


def create_all(
    broker: Broker, names: Sequence[str], partitions: int, configs: Mapping[str, str] | None = None
) -> list[uuid.UUID]:
    """Topics, new; their ids."""
    ids: dict[str, uuid.UUID] = {}
    for start in range(0, len(names), TOPICS_AT_ONCE):
        body = creation(names[start : start + TOPICS_AT_ONCE], partitions, configs)
        for each in ask(broker.bootstrap, ApiKey.CREATE_TOPICS, 7, body).topics:
            assert each.error_code == ErrorCode.NONE, each
            ids[each.name] = uuid.UUID(bytes=each.topic_id.bytes)
    for name in names:
        wait_until_led(broker, name, partitions)
    return [ids[name] for name in names]


def creation(
    names: Sequence[str], partitions: int, configs: Mapping[str, str] | None = None
) -> Any:
    """The request that creates topics."""
    given = [
        create_topics.CreatableTopicConfig(name=key, value=value)
        for key, value in (configs or {}).items()
    ]
    wanted = [
        create_topics.CreatableTopic(
            name=name, num_partitions=partitions, replication_factor=1, configs=given
        )
        for name in names
    ]
    return create_topics.CreateTopicsRequest(topics=wanted, timeout_ms=60_000)


def wait_until_led(broker: Broker, topic: str, partitions: int) -> None:
    """Apache Kafka answers CreateTopics before it has made the logs."""
    asked = [
        list_offsets.ListOffsetsPartition(partition_index=index, timestamp=-1)
        for index in range(partitions)
    ]
    body = list_offsets.ListOffsetsRequest(
        topics=[list_offsets.ListOffsetsTopic(name=topic, partitions=asked)]
    )
    deadline = time.monotonic() + LEADER_SECONDS
    while True:
        answered = ask(broker.bootstrap, ApiKey.LIST_OFFSETS, 7, body).topics[0].partitions
        errors = {ErrorCode(each.error_code).name for each in answered} - {"NONE"}
        if not errors:
            return
        assert time.monotonic() < deadline, f"{topic}: {errors}"
        time.sleep(0.05)


def delete_topic(broker: Broker, *names: str) -> None:
    body = delete_topics.DeleteTopicsRequest(topic_names=list(names), timeout_ms=60_000)
    ask(broker.bootstrap, ApiKey.DELETE_TOPICS, 5, body)


def one_record(value: bytes = b"x" * 10) -> bytes:
    return build_batch([Record(0, TIMESTAMP, None, value, [])])


def produce_request(topic: str, partition: int = 0, records: bytes | None = None) -> Any:
    """Version 12, by name."""
    data = produce.PartitionProduceData(index=partition, records=records or one_record())
    return produce.ProduceRequest(
        acks=-1,
        timeout_ms=5000,
        topic_data=[produce.TopicProduceData(name=topic, partition_data=[data])],
    )


def produced(broker: Broker, topic: str, partition: int = 0, records: bytes | None = None) -> int:
    """Produce once; the base offset."""
    body = produce_request(topic, partition, records)
    answered = ask(broker.bootstrap, ApiKey.PRODUCE, 12, body)
    one = answered.responses[0].partition_responses[0]
    assert one.error_code == ErrorCode.NONE, one
    return int(one.base_offset)
