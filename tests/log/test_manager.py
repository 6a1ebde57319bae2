"""Several data directories: where logs go, and what a broken disk or a full one takes along."""

import errno
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.files import Files
from kafkalite.log.flushing import MOST_SEGMENTS
from kafkalite.log.log import Log
from kafkalite.log.manager import LogManager
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import Record, build_batch

NOW_MS = 1_700_000_000_000


class SickFiles(Files):
    """Writes fail with `error` while it is set."""

    error = 0

    def pwrite(self, descriptor: int, data: Any, position: int) -> int:
        if self.error:
            raise OSError(self.error, "sick")
        return super().pwrite(descriptor, data, position)


def append(log: Log) -> int:
    batch = build_batch([Record(timestamp=NOW_MS, value=b"v")])
    offset = log.append(batch, leader_epoch=0).base_offset
    log.advance_high_watermark(log.log_end_offset)
    return offset


def manager(tmp_path: Path, *files: Files) -> LogManager:
    return LogManager(
        [
            LogDirectory.open(
                tmp_path / str(i),
                cluster_id="c" * 22,
                node_id=1,
                now_ms=lambda: NOW_MS,
                open_files=OpenFiles(files=one),
            )
            for i, one in enumerate(files)
        ]
    )


def test_logs_are_spread_and_found_again(tmp_path: Path) -> None:
    logs = manager(tmp_path, Files(), Files())
    for i in range(4):
        append(logs.open_log("t", i, LogConfig()))
    assert [len(directory.logs) for directory in logs.directories] == [2, 2]
    logs.close()
    logs = manager(tmp_path, Files(), Files())
    stored = logs.stored_partitions()
    assert sorted(one.partition for one in stored) == [0, 1, 2, 3]
    for i in range(4):
        assert logs.open_log("t", i, LogConfig()).log_end_offset == 1
    assert [len(directory.logs) for directory in logs.directories] == [2, 2]
    logs.close()


def test_a_broken_disk_takes_only_its_own_logs(tmp_path: Path) -> None:
    sick = SickFiles()
    logs = manager(tmp_path, sick, Files())
    first, second, third = (logs.open_log("t", i, LogConfig()) for i in range(3))
    for log in (first, second, third):
        append(log)
    sick.error = errno.EIO
    with pytest.raises(KafkaError) as caught:
        append(first)
    assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    sick.error = 0
    with pytest.raises(KafkaError):  # broken is broken, for every log there
        third.read(0, 100, upper_bound=1)
    assert append(second) == 1
    assert list(logs.retention()) == [second]
    for step in logs.checkpoint():
        if callable(step):
            step()
    assert append(logs.open_log("t", 3, LogConfig())) == 0  # where there is a disk
    logs.close()
    assert not (tmp_path / "0" / ".kafka_cleanshutdown").exists()
    assert (tmp_path / "1" / ".kafka_cleanshutdown").exists()


def test_a_full_disk_is_over_when_there_is_room(tmp_path: Path) -> None:
    full = SickFiles()
    logs = manager(tmp_path, full)
    log = logs.open_log("t", 0, LogConfig())
    append(log)
    full.error = errno.ENOSPC
    for _ in range(3):
        with pytest.raises(KafkaError) as caught:
            append(log)
        assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
        assert (log.log_end_offset, log.size_bytes) == (1, log.segments.active.size)
    full.error = 0
    assert append(log) == 1
    logs.close()


def test_without_a_directory_there_is_no_log(tmp_path: Path) -> None:
    sick = SickFiles()
    logs = manager(tmp_path, sick)
    log = logs.open_log("t", 0, LogConfig())
    sick.error = errno.EIO
    with pytest.raises(KafkaError):
        append(log)
    with pytest.raises(KafkaError) as caught:
        logs.open_log("t", 1, LogConfig())
    assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    logs.close()


@pytest.mark.parametrize("is_sick", [False, True])
def test_a_log_of_many_segments_is_flushed_until_all_are_or_the_disk_fails(
    tmp_path: Path, is_sick: bool
) -> None:
    logs = manager(tmp_path, Files())
    log = logs.open_log("t", 0, LogConfig(segment_bytes=80))
    for _ in range(2 * MOST_SEGMENTS + 10):
        append(log)
    reached: list[int] = []
    for flush in logs.rolled():
        if flush is None:
            continue
        if is_sick:
            flush.fail(OSError(errno.ENOSPC, "full"))
        else:
            flush.run()
            flush.complete()
        reached.append(log.recovery_point)
    active = log.segments.active.base_offset
    assert reached == ([0] if is_sick else [MOST_SEGMENTS, 2 * MOST_SEGMENTS, active])
    logs.close()
