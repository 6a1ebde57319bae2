"""Flushing: the recovery point follows what is on the disk, and nothing else."""

import errno
import os
from pathlib import Path
from uuid import UUID

import pytest

from kafkalite.log.checkpoints import write_topic_id
from kafkalite.log.config import LogConfig
from kafkalite.log.files import PARTITION_METADATA, Files
from kafkalite.log.flushing import MOST_SEGMENTS, has_unflushed_roll, is_flush_due
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.log.conftest import Disk


class SyncFiles(Files):
    """Notes which files are synced; syncing fails with `error` while it is set."""

    error = 0

    def __init__(self) -> None:
        self.synced: list[str] = []

    def sync(self, descriptor: int) -> None:
        if self.error:
            raise OSError(self.error, "sick")
        self.synced.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)

    def sync_directory(self, path: Path) -> None:
        self.synced.append(path.name)


@pytest.fixture
def files(disk: Disk) -> SyncFiles:
    files = SyncFiles()
    disk.open_files = OpenFiles(files=files)
    return files


def test_a_flush_covers_batches_indexes_and_names(disk: Disk, files: SyncFiles) -> None:
    log = disk.log(config=LogConfig(index_interval_bytes=0))
    for _ in range(3):
        disk.append(log, b"x")
    assert log.recovery_point == 0
    log.flush()
    assert log.recovery_point == 3
    assert set(files.synced) == {
        "00000000000000000000.log",
        "00000000000000000000.index",
        "00000000000000000000.timeindex",
        "leader-epoch-checkpoint",
        "topic-0",
    }
    files.synced.clear()
    log.flush()
    assert files.synced == []  # there is nothing new
    disk.append(log, b"x")
    log.flush()
    assert "topic-0" not in files.synced  # no name is new


def test_the_first_flush_covers_the_topic_id(disk: Disk, files: SyncFiles) -> None:
    log = disk.log()
    write_topic_id(files, log.directory / PARTITION_METADATA, UUID(int=7))
    disk.append(log, b"x")
    files.synced.clear()
    log.flush()
    assert PARTITION_METADATA in files.synced
    disk.append(log, b"x")
    files.synced.clear()
    log.flush()
    assert PARTITION_METADATA not in files.synced


def test_a_flush_covers_the_epochs_of_its_batches(disk: Disk, files: SyncFiles) -> None:
    """Recovery begins at the recovery point: it would not find them again."""
    log = disk.log()
    disk.append(log, b"x", leader_epoch=3)
    log.flush()
    files.synced.clear()
    log.leader_epochs.assign(4, 1)
    disk.append(log, b"y", leader_epoch=4)
    log.flush()
    assert {"leader-epoch-checkpoint", "topic-0"} <= set(files.synced)
    files.synced.clear()
    disk.append(log, b"z", leader_epoch=4)
    log.flush()
    assert files.synced == [f"{0:020d}.log"]


def test_epochs_that_had_no_room_are_written_by_the_flush(
    disk: Disk, files: SyncFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = disk.log()

    def full(self: SyncFiles, path: Path, data: bytes, *, sync: bool = True) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(SyncFiles, "write_atomically", full)
        with pytest.raises(OSError, match="No space"):
            log.leader_epochs.assign(7, 0)
        disk.append(log, b"x", leader_epoch=7)
        with pytest.raises(KafkaError):
            log.flush()
        assert log.recovery_point == 0
    log.flush()
    assert log.recovery_point == 1
    log.close_files()
    assert disk.log(recovery_point=1).leader_epochs.entries == [(7, 0)]


def test_only_segments_behind_the_recovery_point_are_flushed(disk: Disk, files: SyncFiles) -> None:
    log = disk.log(config=LogConfig(segment_bytes=150))
    for _ in range(6):
        disk.append(log, b"x")
    assert log.segments.base_offsets == [0, 2, 4]
    flush = log.begin_flush(4)
    assert flush is not None
    assert log.recovery_point == 0
    flush.run()
    assert log.recovery_point == 0
    flush.complete()
    assert log.recovery_point == 4
    logs = [name for name in files.synced if name.endswith(".log")]
    assert logs == [f"{0:020d}.log", f"{2:020d}.log"]
    files.synced.clear()
    log.flush()
    logs = [name for name in files.synced if name.endswith(".log")]
    assert logs == [f"{4:020d}.log"]
    assert log.begin_flush() is None


def test_many_segments_are_flushed_some_at_a_time(disk: Disk, files: SyncFiles) -> None:
    """The files of all of them would be open at once."""
    log = disk.log(config=LogConfig(segment_ms=1, flush_ms=100))
    began_ms = log.last_flush_ms
    count = 2 * MOST_SEGMENTS + 10
    for _ in range(count):
        disk.now_ms += 10
        disk.append(log, b"x")
    reached: list[int] = []
    while (flush := log.begin_flush()) is not None:
        held = sum(segment.file.in_use for segment in log.segments)
        assert held <= MOST_SEGMENTS
        assert is_flush_due(log, disk.now_ms)
        flush.run()
        flush.complete()
        reached.append(log.recovery_point)
        assert flush.is_last is (log.last_flush_ms != began_ms)
    assert reached == [MOST_SEGMENTS, 2 * MOST_SEGMENTS, count]
    assert len([name for name in files.synced if name.endswith(".log")]) == count


def test_all_segments_are_flushed_if_that_is_asked_for(disk: Disk) -> None:
    log = disk.log(config=LogConfig(segment_ms=1))
    for _ in range(2 * MOST_SEGMENTS):
        disk.now_ms += 10
        disk.append(log, b"x")
    log.flush()
    assert log.recovery_point == log.log_end_offset


def test_exactly_as_many_segments_as_go_together_take_one_flush(disk: Disk) -> None:
    log = disk.log(config=LogConfig(segment_ms=1))
    for _ in range(MOST_SEGMENTS + 1):
        disk.now_ms += 10
        disk.append(log, b"x")
    flush = log.begin_flush(log.segments.active.base_offset)
    assert flush is not None
    assert (flush.is_last, flush.offset) == (True, MOST_SEGMENTS)


def test_appends_meanwhile_are_not_covered(disk: Disk) -> None:
    log = disk.log()
    disk.append(log, b"x")
    flush = log.begin_flush()
    assert flush is not None
    disk.append(log, b"y")
    flush.run()
    flush.complete()
    assert (log.recovery_point, log.log_end_offset) == (1, 2)


def test_a_log_truncated_meanwhile_is_flushed_up_to_its_end_only(disk: Disk) -> None:
    log = disk.log()
    for _ in range(4):
        disk.append(log, b"x")
    flush = log.begin_flush()
    assert flush is not None
    flush.run()
    log.truncate_to(2)
    flush.complete()
    assert log.recovery_point == 2


@pytest.mark.parametrize(("number", "is_offline"), [(errno.ENOSPC, False), (errno.EIO, True)])
def test_a_failed_flush_counts_for_nothing(
    disk: Disk, files: SyncFiles, number: int, is_offline: bool
) -> None:
    log = disk.log()
    disk.append(log, b"x")
    files.error = number
    with pytest.raises(KafkaError) as caught:
        log.flush()
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert (log.recovery_point, log.offline_reason is not None) == (0, is_offline)
    assert len(disk.open_files) <= 1
    if not is_offline:
        files.error = 0
        log.flush()
        assert log.recovery_point == 1


def test_a_flush_of_a_log_deleted_meanwhile_says_so_and_breaks_nothing(disk: Disk) -> None:
    broken: list[OSError] = []
    log = disk.log(on_failure=broken.append)
    disk.append(log, b"x")
    flush = log.begin_flush()
    assert flush is not None
    log.delete(disk.root / "topic-0.1-delete")
    with pytest.raises(FileNotFoundError) as missing:
        flush.run()
    error = flush.fail(missing.value)
    assert (error.code, error.message) == (ErrorCode.KAFKA_STORAGE_ERROR, "topic-0: deleted")
    assert broken == []


def test_an_abandoned_flush_lets_go_of_its_files(disk: Disk) -> None:
    log = disk.log()
    disk.append(log, b"x")
    flush = log.begin_flush()
    assert flush is not None
    assert log.segments.active.file.in_use
    flush.abandon()
    assert not log.segments.active.file.in_use
    assert log.recovery_point == 0


def test_a_flush_is_due_after_flush_ms_with_something_unflushed(disk: Disk) -> None:
    log = disk.log(config=LogConfig(flush_ms=100))
    assert not is_flush_due(log, disk.now_ms + 1000)
    disk.append(log, b"x")
    assert not is_flush_due(log, disk.now_ms + 99)
    assert is_flush_due(log, disk.now_ms + 100)
    disk.now_ms += 100
    log.flush()
    disk.append(log, b"y")
    assert not is_flush_due(log, disk.now_ms + 99)
    assert is_flush_due(log, disk.now_ms + 100)


def test_a_rolled_segment_is_unflushed_until_a_flush(disk: Disk) -> None:
    log = disk.log()
    disk.append(log, b"x")
    assert not has_unflushed_roll(log)
    log.roll()
    assert has_unflushed_roll(log)
    log.flush()
    assert not has_unflushed_roll(log)


def test_flush_messages_flushes_with_the_append(disk: Disk) -> None:
    moved: list[int] = []
    log = disk.log(config=LogConfig(flush_messages=3))
    log.flush_requests.ended = lambda log: moved.append(log.recovery_point)
    for _ in range(7):
        disk.append(log, b"x")
    assert moved == [3, 6]
    log.append_trusted([(b"k", b"v")], disk.now_ms, 0)
    log.append_trusted([(b"k", b"v")], disk.now_ms, 0)
    assert moved == [3, 6, 9]


def test_a_settled_log_goes_on_and_has_what_a_clean_start_needs(disk: Disk) -> None:
    log = disk.log(config=LogConfig(index_interval_bytes=0))
    for sequence in range(3):
        disk.append(log, b"x", producer_id=3, producer_epoch=0, base_sequence=sequence)
    log.settle()
    assert {f"{0:020d}.index", f"{0:020d}.timeindex", f"{3:020d}.snapshot"} <= set(disk.names())
    copy = disk.log(clean_shutdown=True)
    assert copy.log_end_offset == 3
    assert copy.producer_state.producers[3].last_sequence == 2
    assert disk.append(log, b"y") == 3


def test_a_closed_log_is_flushed_unless_the_caller_does_it(disk: Disk, files: SyncFiles) -> None:
    for name, sync in (("a-0", True), ("b-0", False)):
        log = disk.log(name)
        disk.append(log, b"x")
        files.synced.clear()
        log.close(sync=sync)
        assert ("00000000000000000000.log" in files.synced) is sync
        assert log.recovery_point == (1 if sync else 0)
        log.synced()
        assert log.recovery_point == 1
    assert len(disk.open_files) == 0


def test_an_offline_log_is_closed_as_it_is(disk: Disk, files: SyncFiles) -> None:
    log = disk.log()
    disk.append(log, b"x")
    before = disk.names()
    log.offline_reason = "broken"
    log.close()
    log.settle()
    assert disk.names() == before
    assert files.synced == []
    assert len(disk.open_files) == 0
