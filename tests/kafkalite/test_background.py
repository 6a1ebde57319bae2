"""The work in the background of a broker that runs: compaction, flushes, what is seen after
them."""

from collections.abc import Generator, Iterator
from time import thread_time

import pytest
import trio

from conformance.soak.stolen_time import StolenTime
from kafkalite import background
from kafkalite.log.cleaner import Cleaner, Throttle
from kafkalite.log.disk_wait import Step
from kafkalite.log.manager import LogManager
from kafkalite.replica.partition import Partition
from kafkalite.testing import broker
from kafkalite.wire.record_batch import Record, build_batch
from tests.kafkalite.until import until

NOW_MS = 1_700_000_000_000


def partition_of(running: broker, topic: str) -> Partition:
    found = running._running.services.topics.get(topic)
    assert found is not None
    return found.partitions[0]


def append(partition: Partition, key: bytes, value: bytes) -> None:
    record = Record(timestamp=NOW_MS, key=key, value=value)
    partition.append(build_batch([record]))


async def test_compacted_topics_are_compacted() -> None:
    config = {"log.cleaner.backoff.ms": 10, "log.initial.task.delay.ms": 0}
    async with broker(config) as running:
        running.create_topic(
            "table",
            1,
            configs={
                "cleanup.policy": "compact",
                "internal.segment.bytes": 500,
                "min.cleanable.dirty.ratio": 0.01,
            },
        )
        partition = partition_of(running, "table")
        for i in range(200):
            append(partition, b"key-%d" % (i % 3), b"%d" % i)
        size = partition.log.size_bytes
        await until(lambda: partition.log.size_bytes < size / 4)
        assert partition.log.log_end_offset == 200


def fill_beyond_retention(running: broker) -> None:
    """Topics `compact-delete` and `delete` that are to keep 1000 bytes, and have more."""
    for policy in ("compact,delete", "delete"):
        name = policy.replace(",", "-")
        limits = {"internal.segment.bytes": 500, "retention.bytes": 1000}
        running.create_topic(name, 1, configs={"cleanup.policy": policy, **limits})
        for i in range(100):
            append(partition_of(running, name), b"key-%d" % i, b"%d" % i)


async def test_the_cleaner_sees_to_the_retention_of_compacted_topics() -> None:
    """It does not wait for log.retention.check.interval.ms, as in Apache Kafka."""
    never = 86_400_000
    config = {
        "log.cleaner.backoff.ms": 10,
        "log.initial.task.delay.ms": never,
        "log.retention.check.interval.ms": never,
    }
    async with broker(config) as running:
        fill_beyond_retention(running)
        await until(lambda: partition_of(running, "compact-delete").log.size_bytes < 2000)
        assert partition_of(running, "delete").log.log_start_offset == 0


async def test_without_a_cleaner_compacted_topics_keep_everything() -> None:
    config = {
        "log.cleaner.enable": "false",
        "log.initial.task.delay.ms": 0,
        "log.retention.check.interval.ms": 10,
    }
    async with broker(config) as running:
        fill_beyond_retention(running)
        await until(lambda: partition_of(running, "delete").log.size_bytes < 2000)
        assert partition_of(running, "compact-delete").log.log_start_offset == 0


@pytest.mark.parametrize("interval_ms", [0, -1])
async def test_an_interval_that_is_not_positive_repeats_nothing(
    interval_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kafka's scheduler does such a job once. Nothing spins, and nothing ends the broker."""
    config = {
        "log.initial.task.delay.ms": 0,
        "replica.high.watermark.checkpoint.interval.ms": interval_ms,
        "log.flush.scheduler.interval.ms": interval_ms,
    }
    checkpoints: list[float] = []
    checkpoint = LogManager.checkpoint

    def counted(manager: LogManager) -> Iterator[object]:
        checkpoints.append(trio.current_time())
        return checkpoint(manager)

    monkeypatch.setattr(LogManager, "checkpoint", counted)
    async with broker(config) as running:
        running.create_topic("t", 1)
        await trio.sleep(0.5)
        append(partition_of(running, "t"), b"k", b"v")
    assert len(checkpoints) <= 3, "of high watermarks, of recovery points, and at the end"


async def test_an_idle_cleaner_without_a_backoff_does_not_spin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = 0
    clean = Cleaner.clean

    def counted(cleaner: Cleaner) -> Generator[Step, None, bool]:
        nonlocal looked
        looked += 1
        return clean(cleaner)

    monkeypatch.setattr(Cleaner, "clean", counted)
    async with broker({"log.cleaner.backoff.ms": 0, "log.initial.task.delay.ms": 0}):
        await trio.sleep(0.5)
    assert 0 < looked <= 60


async def test_nothing_is_compacted_or_deleted_while_time_stands_still() -> None:
    config = {
        "log.cleaner.backoff.ms": 10,
        "log.initial.task.delay.ms": 0,
        "log.retention.check.interval.ms": 10,
    }
    segments = {"internal.segment.bytes": 500}
    async with broker(config) as running:
        k = running.asynchronous
        await k.clock.freeze()
        compacted = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": 0.01}
        running.create_topic("table", 1, configs={**segments, **compacted})
        running.create_topic("stream", 1, configs={**segments, "retention.bytes": 500})
        table, stream = partition_of(running, "table"), partition_of(running, "stream")
        for partition in (table, stream):
            for i in range(200):
                append(partition, b"key-%d" % (i % 3), b"%d" % i)
        size = table.log.size_bytes, stream.log.size_bytes
        await trio.sleep(0.2)
        assert (table.log.size_bytes, stream.log.size_bytes) == size
        await k.clock.run()
        await until(lambda: table.log.size_bytes < size[0] / 4)
        await until(lambda: stream.log.size_bytes < size[1] / 4)


async def test_a_segment_that_rolled_is_flushed() -> None:
    config = {"log.flush.scheduler.interval.ms": 10, "log.flush.interval.ms": 10**12}
    async with broker(config) as running:
        running.create_topic("t", 1, configs={"internal.segment.bytes": 500})
        partition = partition_of(running, "t")
        for i in range(20):
            append(partition, b"", b"%d" % i)
        active = partition.log.segments.active.base_offset
        assert active > 0
        await until(lambda: partition.log.recovery_point == active)


async def test_what_is_not_flushed_is_not_seen_where_that_is_asked_for() -> None:
    config = {
        "kafkalite.visible.after.flush": "true",
        "log.flush.scheduler.interval.ms": 10,
    }
    async with broker(config) as running:
        running.create_topic("by-count", 1, configs={"flush.messages": 3})
        partition = partition_of(running, "by-count")
        for i in range(8):
            append(partition, b"", b"%d" % i)
        assert partition.log.log_end_offset == 8
        # All eight: the flush that the third asked for begins after the last.
        await until(lambda: partition.high_watermark == 8)
        append(partition, b"", b"x")
        assert (partition.high_watermark, partition.log.log_end_offset) == (8, 9)

        running.create_topic("by-time", 1, configs={"flush.ms": 50})
        partition = partition_of(running, "by-time")
        append(partition, b"", b"x")
        assert partition.high_watermark == 0
        await until(lambda: partition.high_watermark == 1)


async def test_the_cleaner_reads_and_writes_no_faster_than_it_may(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rates: set[float] = set()

    class Noted(Throttle):
        def __init__(self, bytes_per_second: float, now: float) -> None:
            rates.add(bytes_per_second)
            super().__init__(bytes_per_second, now)

    monkeypatch.setattr(background, "Throttle", Noted)
    config = {"log.cleaner.backoff.ms": 10, "log.cleaner.io.max.bytes.per.second": "1234.5"}
    async with broker({**config, "log.initial.task.delay.ms": 0}):
        await until(lambda: rates == {1234.5})


def spin(seconds: float) -> float:
    """Keep the processor busy; returns for how long."""
    began = thread_time()
    while thread_time() < began + seconds:
        pass
    return thread_time() - began


async def test_beside_others_the_cleaner_takes_half_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cleaning, steps = 0.0, 0

    def clean(cleaner: Cleaner) -> Iterator[Step]:
        nonlocal cleaning, steps
        while True:
            cleaning += spin(0.0005)
            steps += 1
            yield Step(0)

    monkeypatch.setattr(Cleaner, "clean", clean)
    async with broker({"log.cleaner.backoff.ms": 10, "log.initial.task.delay.ms": 0}):
        await until(lambda: cleaning > 0.01)
        steps, others = 0, 400
        for _ in range(others):
            spin(0.0005)
            await trio.lowlevel.checkpoint()
        assert 0.4 < others / (others + steps) < 0.9
        # Alone, it takes all.
        cleaning, began, stolen = 0.0, thread_time(), StolenTime()
        await trio.sleep(0.3)
        assert cleaning > 0.8 * (thread_time() - began - stolen.seconds())
