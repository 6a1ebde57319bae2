"""Snapshots of the metadata: the same image from fewer records, through crashes and clean-ups."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from kafkalite.log.files import Files
from kafkalite.testing import broker as test_broker
from kafkalite.wire.api_keys import TOPIC_RESOURCE
from kafkalite.wire.errors import KafkaError
from tests.kafkalite.clusters import create
from tests.kafkalite.held_disk import HeldDisk
from tests.kafkalite.snapshots import Opened, fill


def test_a_start_reads_the_newest_snapshot_and_what_follows(tmp_path: Path) -> None:
    opened = Opened(tmp_path).start()
    fill(opened.cluster)
    snapshot = opened.snapshot()
    create(opened.cluster, "later")
    names, epoch, offset = list(opened.cluster.image.topics), opened.cluster.epoch, snapshot[0]
    leader_epoch = opened.cluster.leader_epoch
    opened.close()
    assert (opened.directory / f"{offset:020d}-{leader_epoch:010d}.checkpoint").exists()
    again = Opened(tmp_path)
    assert list(again.cluster.image.topics) == names
    assert again.cluster.epoch == epoch
    assert again.cluster.leader_epoch == leader_epoch
    assert again.cluster.image.configs[TOPIC_RESOURCE, "t"] == {"retention.ms": "7"}
    again.start()
    assert again.cluster.leader_epoch == leader_epoch + 1
    again.close()


def test_old_metadata_goes_and_is_not_missed(tmp_path: Path) -> None:
    opened = Opened(tmp_path, metadata_max_retention_bytes=45_000).start()
    for number in range(200):
        create(opened.cluster, f"topic-{number}")
        if number % 20 == 19:
            opened.snapshot()
    assert len(opened.metadata_log.snapshots) in (1, 2)
    assert opened.log.log_start_offset == opened.metadata_log.snapshots[0].end_offset
    size = sum(path.stat().st_size for path in opened.directory.glob("*.log"))
    assert size < 30_000
    opened.close()
    again = Opened(tmp_path)
    assert len(again.cluster.image.topics) == 200
    again.start()
    create(again.cluster, "another")
    again.close()


def test_old_metadata_goes_with_time(tmp_path: Path) -> None:
    opened = Opened(tmp_path, metadata_max_retention_ms=1000).start()
    first = opened.snapshot()
    create(opened.cluster, "a")
    second = opened.snapshot()
    assert opened.metadata_log.snapshots == [first, second]
    opened.now_ms += 1001
    create(opened.cluster, "b")
    third = opened.snapshot()
    assert opened.metadata_log.snapshots == [third]
    assert opened.log.log_start_offset == third.end_offset
    opened.close()
    again = Opened(tmp_path)
    assert set(again.cluster.image.topics) == {"a", "b"}
    again.close()


def test_what_a_crash_left_half_written_is_removed(tmp_path: Path) -> None:
    opened = Opened(tmp_path).start()
    create(opened.cluster, "t")
    opened.close()
    part = opened.directory / f"{7:020d}-{1:010d}.checkpoint.part"
    part.write_bytes(b"x")
    again = Opened(tmp_path)
    assert not part.exists()
    assert list(again.cluster.image.topics) == ["t"]
    again.close()


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_a_damaged_snapshot_is_passed_over(tmp_path: Path, damage: str) -> None:
    opened = Opened(tmp_path).start()
    create(opened.cluster, "t")
    opened.snapshot()
    create(opened.cluster, "u")
    path = opened.snapshot().path(opened.directory)
    opened.close()
    data = bytearray(path.read_bytes())
    if damage == "cut":
        del data[-70:]
    else:
        data[len(data) // 2] ^= 1
    path.write_bytes(data)
    again = Opened(tmp_path)
    assert list(again.cluster.image.topics) == ["t", "u"]
    again.close()


def test_no_snapshot_and_no_beginning_is_an_error(tmp_path: Path) -> None:
    opened = Opened(tmp_path, metadata_max_retention_bytes=0).start()
    for number in range(100):
        create(opened.cluster, f"topic-{number}")
    opened.snapshot()
    create(opened.cluster, "t")
    opened.snapshot()
    opened.close()
    for path in opened.directory.glob("*.checkpoint"):
        path.unlink()
    with pytest.raises(KafkaError, match="do not meet the log"):
        Opened(tmp_path)


def test_when_a_snapshot_is_due(tmp_path: Path) -> None:
    opened = Opened(tmp_path, metadata_log_max_record_bytes_between_snapshots=5000).start()
    opened.snapshot()
    count = 0
    while not opened.metadata_log.is_snapshot_due:
        create(opened.cluster, f"topic-{count}")
        count += 1
    assert 10 < count < 50
    opened.snapshot()
    assert not opened.metadata_log.is_snapshot_due
    opened.now_ms += 3_600_000
    assert not opened.metadata_log.is_snapshot_due  # nothing is new
    create(opened.cluster, "new")
    assert opened.metadata_log.is_snapshot_due
    opened.close()


def test_a_snapshot_that_failed_is_still_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Opened(tmp_path, metadata_log_max_record_bytes_between_snapshots=5000).start()
    count = 0
    while not opened.metadata_log.is_snapshot_due:
        create(opened.cluster, f"topic-{count}")
        count += 1
    disk = HeldDisk(monkeypatch)
    disk.error = errno.ENOSPC
    with pytest.raises(OSError, match="No space"):
        opened.snapshot()
    assert opened.metadata_log.is_snapshot_due
    disk.error = 0
    opened.snapshot()
    assert not opened.metadata_log.is_snapshot_due
    opened.close()


async def test_a_failed_snapshot_is_tried_again(
    autojump_clock: MockClock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It is there once the disk has room again."""
    config = {"metadata.log.max.record.bytes.between.snapshots": 3000}
    directory = tmp_path / "__cluster_metadata-0"
    whole, failures = Files.open, 0

    def full(files: Files, path: Path, flags: int) -> int:
        nonlocal failures
        if path.suffix == ".part" and failures < 3:
            failures += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return whole(files, path, flags)

    monkeypatch.setattr(Files, "open", full)
    async with test_broker(config, data_dir=tmp_path) as b:
        for number in range(20):
            b.create_topic(f"topic-{number}")
        with trio.fail_after(3600):
            while not list(directory.glob("*.checkpoint")):  # noqa: ASYNC110 - nobody signals that
                await trio.sleep(0.5)
    assert failures == 3
    assert len([each for each in caplog.messages if "snapshot of the metadata" in each]) == 1


async def test_a_running_broker_makes_them(autojump_clock: MockClock, tmp_path: Path) -> None:
    config = {"metadata.log.max.record.bytes.between.snapshots": 3000}
    async with test_broker(config, data_dir=tmp_path) as b:
        directory = tmp_path / "__cluster_metadata-0"
        assert not list(directory.glob("*.checkpoint"))
        for number in range(30):
            b.create_topic(f"topic-{number}")
        while not list(directory.glob("*.checkpoint")):  # noqa: ASYNC110 - nobody signals that
            await trio.sleep(0.5)
    async with test_broker(config, data_dir=tmp_path) as b:
        assert len(b._running.services.topics) == 30


def test_every_change_is_on_the_disk_before_it_is_told(tmp_path: Path) -> None:
    opened = Opened(tmp_path).start()
    told: list[int] = []
    opened.cluster.subscribe(lambda records: told.append(opened.log.recovery_point))
    create(opened.cluster, "t")
    assert told == [opened.log.log_end_offset]
    opened.close()
