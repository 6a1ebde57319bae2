"""Several data directories: moving partitions between them while they are used; one that is broken."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.broker import Broker
from kafkalite.group_coordinator.java_hash import java_hash
from kafkalite.replica.partition import Partition
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafkalite.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records

NOW_MS = 1_700_000_000_000
THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"


def running(tmp_path: Path, **configs: object) -> test_broker:
    names = {name.replace("_", "."): value for name, value in configs.items()}
    return test_broker({"log.dirs": f"{tmp_path}/a,{tmp_path}/b", **names})


def core(broker: test_broker) -> Broker:
    return broker._running


def partition_of(broker: test_broker, topic: str, index: int = 0) -> Partition:
    found = core(broker).services.topics.get(topic)
    assert found is not None
    return found.partitions[index]


def directory_of(broker: test_broker, topic: str, index: int = 0) -> Path:
    found = core(broker).services.logs.manager.directory_of(topic, index)
    assert found is not None
    return found


def other(broker: test_broker, path: Path) -> Path:
    (found,) = {each.path for each in core(broker).services.logs.manager.directories} - {path}
    return found


def append(partition: Partition, value: bytes) -> None:
    partition.append(build_batch([Record(timestamp=NOW_MS, value=value)]))


def values(partition: Partition) -> list[bytes | None]:
    found: list[bytes | None] = []
    offset = partition.log.log_start_offset
    while offset < partition.high_watermark:
        records = partition.read(offset, 1 << 20).records
        assert not isinstance(records, bytes)
        with records:
            for batch in iterate_batches(records.read()):
                found += [record.value for record in iterate_records(batch)]
                offset = batch.next_offset
    return found


def found(root: Path, pattern: str) -> list[Path]:
    return list(root.glob(pattern))


async def until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(20):
        while not condition():  # noqa: ASYNC110 - nothing tells when the background is done
            await trio.sleep(0.01)


async def ask(client: Any, path: Path | str, topic: str, *partitions: int) -> list[int]:
    moves = [AlterReplicaLogDirTopic(name=topic, partitions=list(partitions))]
    answer = await client.ask(
        AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=str(path), topics=moves)])
    )
    return [each.error_code for each in answer.results[0].partitions]


async def described(client: Any) -> dict[tuple[str, bool], tuple[int, int]]:
    """(directory's name, whether the log is on its way there) to (size, offset lag), of `t-0`."""
    answer = await client.ask(DescribeLogDirsRequest(topics=None))
    return {
        (Path(result.log_dir).name, partition.is_future_key): (
            partition.partition_size,
            partition.offset_lag,
        )
        for result in answer.results
        for topic in result.topics
        for partition in topic.partitions
        if topic.name == "t"
    }


async def test_a_partition_moves_while_it_is_written(tmp_path: Path, connect: Any) -> None:
    async with running(tmp_path, log_segment_bytes=1 << 20) as broker:
        broker.create_topic("t")
        partition = partition_of(broker, "t")
        written = [b"%d" % i * 100 for i in range(20_000)]
        for value in written[:10_000]:
            append(partition, value)
        target = other(broker, directory_of(broker, "t"))
        client = await connect(broker)
        assert await ask(client, target, "t", 0) == [0]
        for value in written[10_000:]:
            append(partition, value)
            if len(value) % 7 == 0:
                await trio.lowlevel.checkpoint()
        await until(lambda: directory_of(broker, "t") == target)
        assert partition.log.directory == target / "t-0"
        append(partition, b"last")
        assert values(partition) == [*written, b"last"]
        state = core(broker).services.cluster.image.topics["t"].partitions[0]
        assert state.directories == [
            core(broker).services.logs.directory_ids[1 if target.name == "b" else 0]
        ]
        assert await ask(client, target, "t", 0) == [0]  # there it is
        assert core(broker).services.logs.manager.moves == {}
    async with running(tmp_path) as broker:
        assert directory_of(broker, "t") == target
        assert values(partition_of(broker, "t")) == [*written, b"last"]


async def test_a_move_is_seen_cancelled_and_gone_on_with(tmp_path: Path, connect: Any) -> None:
    slow = {THROTTLE.replace(".", "_"): 20_000}
    async with running(tmp_path, **slow) as broker:
        broker.create_topic("t")
        partition = partition_of(broker, "t")
        for i in range(1000):
            append(partition, b"%1000d" % i)
        here = directory_of(broker, "t")
        there = other(broker, here)
        client = await connect(broker)
        assert await ask(client, there, "t", 0) == [0]
        await trio.sleep(0.05)
        shown = await described(client)
        size, lag = shown[there.name, True]
        assert 0 < size < partition.log.size_bytes
        assert lag == 1000 - size * 1000 // partition.log.size_bytes
        assert shown[here.name, False] == (partition.log.size_bytes, 0)
        assert await ask(client, here, "t", 0) == [0]  # stay
        assert list(await described(client)) == [(here.name, False)]
        assert await ask(client, there, "t", 0) == [0]
        await trio.sleep(0.05)
    async with running(tmp_path) as broker:  # as fast as it can
        await until(lambda: directory_of(broker, "t") == there)
        assert len(values(partition_of(broker, "t"))) == 1000
        assert [path.parent for path in found(tmp_path, "*/t-0")] == [there]
    assert found(tmp_path, "*/*-future") == []


async def test_what_kafka_refuses_is_refused(tmp_path: Path, connect: Any) -> None:
    async with running(tmp_path) as broker:
        broker.create_topic("t", 2)
        long = "l" * 249
        broker.create_topic(long)
        client = await connect(broker)
        here = directory_of(broker, "t")
        there = other(broker, here)
        assert await ask(client, tmp_path / "c", "t", 0) == [ErrorCode.LOG_DIR_NOT_FOUND]
        assert await ask(client, "b", "t", 0) == [ErrorCode.LOG_DIR_NOT_FOUND]
        assert await ask(client, there, "t", 2) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert await ask(client, there, long, 0) == [ErrorCode.INVALID_TOPIC_EXCEPTION]
        # What does not exist yet will be made there.
        for i, path in enumerate((here, there, there, there)):
            name = f"later-{i}"
            assert await ask(client, path, name, 0) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
            broker.create_topic(name)
            assert directory_of(broker, name) == path
        # A directory that breaks: nothing goes there, and nothing goes anywhere.
        broken = core(broker).services.logs.manager.directory_at(str(there))
        assert broken is not None
        broken.failed(OSError(5, "sick"))
        assert await ask(client, there, "t", 0) == [ErrorCode.KAFKA_STORAGE_ERROR]
        assert await ask(client, here, "t", 0) == [0]


async def test_a_long_topic_can_be_deleted(tmp_path: Path) -> None:
    async with running(tmp_path, log_segment_delete_delay_ms=0) as broker:
        long = "l" * 249
        broker.create_topic(long)
        append(partition_of(broker, long), b"x")
        broker.delete_topic(long)
        assert found(tmp_path, "*/lll*-0") == []
        broker.create_topic("t")
        append(partition_of(broker, "t"), b"x")


async def test_a_directory_that_is_broken_at_the_start(
    tmp_path: Path, connect: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path) as broker:
        broker.create_topic("t", 4)
        places = [directory_of(broker, "t", i).name for i in range(4)]
        assert sorted(places) == ["a", "a", "b", "b"]
        for i in range(4):
            append(partition_of(broker, "t", i), b"%d" % i)
    (tmp_path / "b").rename(tmp_path / "elsewhere")
    (tmp_path / "b").write_text("no directory")
    with caplog.at_level(logging.ERROR):
        async with running(tmp_path) as broker:
            assert f"{tmp_path}/b: offline" in caplog.text
            for i, place in enumerate(places):
                partition = partition_of(broker, "t", i)
                if place == "a":
                    assert values(partition) == [b"%d" % i]
                    continue
                assert f"partition t-{i} is offline: its data directory" in caplog.text
                for use in (lambda: append(partition, b"x"), lambda: partition.read(0, 100)):  # noqa: B023
                    with pytest.raises(KafkaError) as caught:
                        use()
                    assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
            client = await connect(broker)
            answer = await client.ask(DescribeLogDirsRequest(topics=None))
            codes = {Path(each.log_dir).name: each.error_code for each in answer.results}
            assert codes == {"a": 0, "b": ErrorCode.KAFKA_STORAGE_ERROR}
            assert await ask(client, tmp_path / "b", "t", 0) == [ErrorCode.KAFKA_STORAGE_ERROR]
            broker.create_topic("new", 3)
            assert {directory_of(broker, "new", i).name for i in range(3)} == {"a"}
            broker.delete_topic("t")
    (tmp_path / "b").unlink()
    (tmp_path / "elsewhere").rename(tmp_path / "b")
    async with running(tmp_path) as broker:  # what was deleted meanwhile goes now
        assert found(tmp_path, "*/t-*") == []


async def test_a_partition_that_cannot_be_opened_takes_nobody_along(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(tmp_path) as broker:
        broker.create_topic("t", 2)
        for i in range(2):
            append(partition_of(broker, "t", i), b"%d" % i)
        place = directory_of(broker, "t", 0)
    (log,) = (place / "t-0").glob("*.log")
    (place / "t-0" / f"{1:020d}.snapshot").unlink()  # so that the batches must be read
    data = bytearray(log.read_bytes())
    data[8:12] = (5).to_bytes(4)  # a length that no batch has
    log.write_bytes(data)
    async with running(tmp_path) as broker:
        assert "partition t-0 is offline" in caplog.text
        with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
            partition_of(broker, "t", 0).read(0, 100)
        assert values(partition_of(broker, "t", 1)) == [b"1"]
        broker.delete_topic("t")
        assert found(tmp_path, "*/t-?") == []


async def test_a_damaged_group_log_takes_only_its_groups_along(
    tmp_path: Path, connect: Any, caplog: pytest.LogCaptureFixture
) -> None:
    config = {"offsets_topic_num_partitions": 2}
    groups = {java_hash(name) % 2: name for name in ("a", "b")}
    async with running(tmp_path, **config) as broker:
        broker.create_topic("t")
        client = await connect(broker)
        for name in groups.values():
            assert await coordinator_code(client, name) == 0
            assert await commit(client, name) == 0
        place = directory_of(broker, "__consumer_offsets", 0)
    (log,) = (place / "__consumer_offsets-0").glob("*.log")
    data = bytearray(log.read_bytes())
    data[-3] ^= 1
    log.write_bytes(data)
    async with running(tmp_path, **config) as broker:
        assert "partition __consumer_offsets-0 is offline: it cannot be read back" in caplog.text
        client = await connect(broker)
        assert await coordinator_code(client, groups[0]) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert await commit(client, groups[0]) == ErrorCode.NOT_COORDINATOR
        assert await coordinator_code(client, groups[1]) == 0
        assert await commit(client, groups[1]) == 0


async def coordinator_code(client: Any, group: str) -> int:
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
    answer = await client.ask(request, 4)
    return int(answer.coordinators[0].error_code)


async def commit(client: Any, group: str) -> int:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = OffsetCommitRequestTopic(name="t", partitions=[partition])
    request = OffsetCommitRequest(
        group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=[topic]
    )
    answer = await client.ask(request, 8)
    return int(answer.topics[0].partitions[0].error_code)
