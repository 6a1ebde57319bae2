"""A data directory or a log that is broken at the start takes only its own partitions offline."""

from __future__ import annotations

import logging
import shutil
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafkalite.config import BrokerConfig
from kafkalite.log.config import LogConfig
from kafkalite.replica.partition_logs import PartitionLogs
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from tests.kafkalite.data_directories import (
    append,
    ask,
    directory_of,
    found,
    gone,
    partition_of,
    running,
    values,
)


async def test_a_long_topic_can_be_deleted(tmp_path: Path) -> None:
    async with running(tmp_path, log_segment_delete_delay_ms=0) as broker:
        long = "l" * 249
        broker.create_topic(long)
        append(partition_of(broker, long), b"x")
        broker.delete_topic(long)
        await gone(tmp_path, "*/lll*-0")
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
                for use in (partial(append, partition, b"x"), partial(partition.read, 0, 100)):
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


def test_a_cordoned_directory_gets_no_log_that_controllers_assigned_to_none(
    tmp_path: Path,
) -> None:
    """A broker with several directories places its new logs itself (KIP-1066)."""
    a, b = tmp_path / "a", tmp_path / "b"
    config = BrokerConfig({"log.dirs": f"{a},{b}", "cordoned.log.dirs": str(b)})
    logs = PartitionLogs(config, lambda: 0)
    try:
        for index in range(4):
            log = logs.open("t", UUID(int=7), index, LogConfig(), assigned=[UUID(int=1)])
            assert log.directory.parent == a
        in_b = logs.directory_ids[1]
        log = logs.open("t", UUID(int=7), 4, LogConfig(), assigned=[in_b])
        assert log.directory.parent == b, "the controllers say so"
    finally:
        logs.close()


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
        await gone(tmp_path, "*/t-?")


def lose_metadata(root: Path) -> None:
    (log,) = root.glob("*/__cluster_metadata-0/*.log")
    log.write_bytes(b"")


async def test_what_the_metadata_have_lost_is_set_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A damaged metadata log costs the topics, and not one of their records."""
    async with running(tmp_path) as broker:
        broker.create_topic("t")
        append(partition_of(broker, "t"), b"x")
        broker.create_topic("empty")
        place = directory_of(broker, "t")
    (kept,) = place.glob("t-0/*.log")
    data = kept.read_bytes()
    lose_metadata(tmp_path)
    async with running(tmp_path) as broker:
        broker.create_topic("t")  # it is not there
        assert values(partition_of(broker, "t")) == []
    assert "t-0 belongs to no topic: renamed to t-0." in caplog.text
    (aside,) = place.glob("t-0.*-stray")
    assert (aside / kept.name).read_bytes() == data
    assert found(tmp_path, "*/empty-*") == []


async def test_what_a_crash_kept_from_being_deleted_goes_at_the_next_start(tmp_path: Path) -> None:
    async with running(tmp_path) as broker:
        broker.create_topic("t")
        append(partition_of(broker, "t"), b"x")
        place = directory_of(broker, "t")
        shutil.copytree(place / "t-0", tmp_path / "left")
        broker.delete_topic("t")
    shutil.copytree(tmp_path / "left", place / "t-0")
    async with running(tmp_path):
        assert found(tmp_path, "*/t-*") == []
