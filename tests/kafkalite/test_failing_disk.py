"""Nothing that the broker does in the background ends it: the disk fails at each operation
meanwhile."""

from __future__ import annotations

import errno
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite import background
from kafkalite.broker import Broker
from kafkalite.log.files import Files
from kafkalite.log.log_state import PASSING_ERRORS
from kafkalite.replica.partition import Partition
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.messages.sync_group import SyncGroupRequest
from kafkalite.wire.record_batch import Record, build_batch
from tests.kafkalite.conftest import Client
from tests.kafkalite.few_partitions import FEW_PARTITIONS
from tests.kafkalite.transactional import Transactional
from tests.kafkalite.until import until

BROKEN_AND_FULL = pytest.mark.parametrize(
    "number", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"]
)
OPERATIONS = ("pread", "pwrite", "sync", "sync_directory", "rename", "unlink", "truncate", "open")
RESTLESS: dict[str, Any] = {
    **FEW_PARTITIONS,
    "log.initial.task.delay.ms": 0,
    "log.retention.check.interval.ms": 10,
    "log.flush.offset.checkpoint.interval.ms": 10,
    "replica.high.watermark.checkpoint.interval.ms": 10,
    "producer.id.expiration.check.interval.ms": 10,
    "producer.id.expiration.ms": 10,
    "log.flush.scheduler.interval.ms": 10,
    "log.flush.interval.ms": 10,
    "log.cleaner.backoff.ms": 10,
    "log.segment.delete.delay.ms": 20,
    "metadata.log.max.snapshot.interval.ms": 50,
    "group.min.session.timeout.ms": 10,
    "offsets.retention.check.interval.ms": 20,
    "offsets.retention.minutes": 1,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 20,
    "transaction.remove.expired.transaction.cleanup.interval.ms": 20,
    "replica.alter.log.dirs.io.max.bytes.per.second": 20_000,
    "kafkalite.metrics.port": 0,
    "auto.create.topics.enable": "false",
}


class Fault:
    """Makes one operation of the disks under `root` fail, while it is told to: the process may have
    other brokers, those of fixtures."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, root: Path, operation: str, number: int
    ) -> None:
        self.is_on = False
        self.number = number
        self.count = 0
        whole = vars(Files)[operation]

        def faulty(files: Files, where: int | Path, *more: Any) -> Any:
            if self.is_on:
                path = os.readlink(f"/proc/self/fd/{where}") if isinstance(where, int) else where
                if Path(path).is_relative_to(root):
                    self.count += 1
                    raise OSError(self.number, os.strerror(self.number))
            return whole.__get__(files)(where, *more)

        monkeypatch.setattr(Files, operation, faulty)


def core(broker: test_broker) -> Broker:
    return broker._running


def partition_of(broker: test_broker, topic: str) -> Partition:
    found = core(broker).services.topics.get(topic)
    assert found is not None
    return found.partitions[0]


def write(partition: Partition, count: int) -> None:
    now_ms = core_now()
    for i in range(count):
        record = Record(timestamp=now_ms, key=b"key-%d" % (i % 3), value=bytes(100))
        with suppress(KafkaError):
            partition.append(build_batch([record]))


def core_now() -> int:
    from kafkalite.clock import wall_clock_ms

    return wall_clock_ms()


async def join(client: Client) -> None:
    """A member whose session ends soon."""
    request = JoinGroupRequest(
        group_id="group",
        session_timeout_ms=200,
        rebalance_timeout_ms=200,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    joined = await client.ask(request, 3)
    assert joined.error_code == ErrorCode.NONE
    synced = await client.ask(
        SyncGroupRequest(
            group_id="group", generation_id=joined.generation_id, member_id=joined.member_id
        ),
        3,
    )
    assert synced.error_code == ErrorCode.NONE


async def connected(broker: test_broker) -> Client:
    host, port = broker.bootstrap.split(":")
    return Client(await trio.open_tcp_stream(host, int(port)))


def is_writable(partition: Partition) -> bool:
    try:
        partition.append(build_batch([Record(timestamp=core_now(), key=b"k", value=b"v")]))
    except KafkaError:
        return False
    return True


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Warnings and errors in the log."""
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]


# Intervals of 10 ms, of all jobs at once: each of them has little to do else.
@pytest.mark.slow
@pytest.mark.holds_the_loop
@BROKEN_AND_FULL
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_failing_disk_ends_no_broker(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    operation: str,
    number: int,
) -> None:
    fault = Fault(monkeypatch, tmp_path, operation, number)
    config = {"log.dirs": f"{tmp_path}/a,{tmp_path}/b", **RESTLESS}
    async with test_broker(config) as broker:
        small = {"internal.segment.bytes": 1000}
        broker.create_topic("table", 1, configs={"cleanup.policy": "compact", **small})
        broker.create_topic("short", 1, configs={"retention.bytes": 2000, **small})
        broker.create_topic("moving", 1, configs=small)
        broker.create_topic("words", 1)
        client = await connected(broker)
        producer = Transactional(client)
        await producer.find_coordinators()
        await join(client)
        assert await producer.init(timeout_ms=100) is ErrorCode.NONE
        assert await producer.add(0) is ErrorCode.NONE
        for topic in ("table", "short", "moving"):
            write(partition_of(broker, topic), 40)
        moves = core(broker).services.replica_moves
        manager = core(broker).services.logs.manager
        here = manager.directory_of("moving", 0)
        other = next(each.path for each in manager.directories if each.path != here)
        moves.request(1, "moving", 0, str(other))
        caplog.clear()
        fault.is_on = True
        for _ in range(20):
            for topic in ("table", "short", "moving"):
                write(partition_of(broker, topic), 10)
            await trio.sleep(0.05)
        fault.is_on = False
        another = await connected(broker)
        answer = await another.ask(ApiVersionsRequest(), 0)
        assert answer.error_code == ErrorCode.NONE
        said = warnings(caplog)
        if number == errno.ENOSPC:
            await until(lambda: is_writable(partition_of(broker, "short")))
            await join(another)
        await client.stream.aclose()
        await another.stream.aclose()
    assert fault.count
    # Each log and each task says it once, not each time it tries.
    assert len(said) < 40, said


@pytest.mark.slow
async def test_a_topic_made_on_a_full_disk_is_there_when_the_disk_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Fault(monkeypatch, tmp_path, "make_directory", errno.ENOSPC)
    async with test_broker({"log.dirs": str(tmp_path / "a")}) as broker:
        client = await connected(broker)
        fault.is_on = True
        request = CreateTopicsRequest(
            topics=[CreatableTopic(name="late", num_partitions=2, replication_factor=1)],
            timeout_ms=1000,
        )
        answer = await client.ask(request)
        assert answer.topics[0].error_code == ErrorCode.NONE
        assert not is_writable(partition_of(broker, "late"))
        fault.is_on = False
        await until(lambda: is_writable(partition_of(broker, "late")))
        await client.stream.aclose()


REOPENING = ("make_directory", "open", "pwrite", "rename")


@pytest.mark.slow
@BROKEN_AND_FULL
@pytest.mark.parametrize("operation", REOPENING)
async def test_the_opening_of_offline_logs_outlives_each_of_its_operations(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    operation: str,
    number: int,
) -> None:
    """A full disk kept the log of a new topic from being made; something else fails then. If that
    is the disk itself, the directory is offline."""
    monkeypatch.setattr(background, "_REOPEN_SECONDS", 0.02)
    full = Fault(monkeypatch, tmp_path, "make_directory", errno.ENOSPC)
    async with test_broker({"log.dirs": str(tmp_path / "a")}) as broker:
        broker.create_topic("sound", 1)
        full.is_on = True
        broker.create_topic("late", 1)
        late, sound = (partition_of(broker, topic) for topic in ("late", "sound"))
        assert not is_writable(late)
        write(sound, 1)  # its files are there
        fault = (
            full
            if operation == "make_directory"
            else Fault(monkeypatch, tmp_path, operation, number)
        )
        full.number, full.is_on, fault.is_on = number, False, True
        caplog.clear()
        if number not in PASSING_ERRORS:
            await until(lambda: sound.log.offline_reason is not None)
            fault.is_on = False
            assert not is_writable(late)
            assert not is_writable(sound)
            return
        await until(lambda: fault.count > 3)
        fault.is_on = False
        said = warnings(caplog)
        assert len(said) <= 1, said
        await until(lambda: is_writable(late))
        assert is_writable(sound)


def flip(path: Path, position: int, bit: int) -> None:
    """Flip a bit in a batch of a closed segment's file."""
    data = bytearray(path.read_bytes())
    data[position] ^= bit
    path.write_bytes(data)


# Bits of a batch's header: the lowest of the magic, a high one of the length.
@pytest.mark.slow
@pytest.mark.holds_the_loop
@pytest.mark.parametrize(("position", "bit"), [(16, 0x01), (8, 0x40)], ids=["magic", "length"])
@pytest.mark.parametrize("segment", [0, 2], ids=["first segment", "in the middle"])
@pytest.mark.parametrize("restarts", [False, True], ids=["running", "opening"])
async def test_a_damaged_table_is_said_once_and_the_others_are_cleaned(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    position: int,
    bit: int,
    segment: int,
    restarts: bool,
) -> None:
    compacted = {
        "cleanup.policy": "compact",
        "internal.segment.bytes": 1000,
        "min.cleanable.dirty.ratio": 0.01,
    }
    config = {"log.dirs": str(tmp_path), "log.initial.task.delay.ms": 0}
    cleaning = {**config, "log.cleaner.backoff.ms": 10}
    sizes: list[int] = []

    def filled(broker: test_broker) -> Path:
        """Two tables, and the segment of one that is to be damaged. Nothing is cleaned yet."""
        for topic in ("damaged", "sound"):
            broker.create_topic(topic, 1, configs=compacted)
            write(partition_of(broker, topic), 60)
            sizes.append(partition_of(broker, topic).log.size_bytes)
        return list(partition_of(broker, "damaged").log.segments)[segment].file.path

    if restarts:
        async with test_broker({**config, "log.cleaner.enable": "false"}) as broker:
            path = filled(broker)
        flip(path, position, bit)
    async with test_broker(cleaning) as broker:
        if not restarts:
            flip(filled(broker), position, bit)
        log, sound = (partition_of(broker, topic).log for topic in ("damaged", "sound"))
        await until(lambda: sound.size_bytes < sizes[1] / 3)
        await until(lambda: "damaged-0: not cleaned any more" in caplog.text)
        write(partition_of(broker, "damaged"), 60)
        await trio.sleep(0.1)  # the cleaner goes round some times
        assert log.size_bytes > sizes[0]
        assert is_writable(partition_of(broker, "damaged"))
    said = [each.getMessage() for each in caplog.records if "damaged-0" in each.getMessage()]
    assert len(said) == 1, said
