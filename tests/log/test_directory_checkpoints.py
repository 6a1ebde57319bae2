"""The three checkpoints of a data directory: Kafka's text, written when it changed."""

import errno
import os
import shutil
import time
import uuid
from pathlib import Path
from threading import Barrier, Thread

import pytest

from kafkalite.log.checkpoints import read_offsets
from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.directory_checkpoints import DirectoryCheckpoints
from kafkalite.log.disk_wait import DiskWait
from kafkalite.log.files import (
    CLEANER_CHECKPOINT,
    FILES,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    Files,
)
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.opening import open_log
from kafkalite.wire.errors import KafkaError
from tests.log.directories import NOW_MS, append, open_directory, opened
from tests.log.many_logs import MANY, MOST_SECONDS, empty, fill, longest_step_seconds


class SyncedFiles(Files):
    """Notes the files that are written and synced."""

    def __init__(self) -> None:
        self.synced: list[str] = []

    def write_atomically(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        if sync:
            self.synced.append(path.name)
        super().write_atomically(path, data, sync=sync)


def test_checkpoints_are_kafkas(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        log = directory.open_log("orders", 2, LogConfig())
        for _ in range(3):
            append(log, b"x")
        log.delete_records_before(1)
        log.flush()
        directory.checkpoint()
        assert (tmp_path / "recovery-point-offset-checkpoint").read_text() == "0\n1\norders 2 3\n"
        assert (tmp_path / "log-start-offset-checkpoint").read_text() == "0\n1\norders 2 1\n"
        assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n1\norders 2 3\n"


def test_a_damaged_checkpoint_loses_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        append(directory.open_log("t", 0, LogConfig()), b"x")
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n7\nt 0\n")
    with opened(tmp_path) as directory:
        assert directory.open_log("t", 0, LogConfig()).log_end_offset == 1


def test_a_cut_is_told_at_once_and_synced_with_the_next_checkpoint(tmp_path: Path) -> None:
    (tmp_path / CLEANER_CHECKPOINT).write_text("0\n2\nother 0 4\nt 0 9\n")
    files = SyncedFiles()
    checkpoints = DirectoryCheckpoints(tmp_path, files)
    log = open_log(tmp_path / "t-0", LogConfig(), now_ms=lambda: NOW_MS, open_files=OpenFiles())
    for _ in range(7):
        append(log, b"x")
    checkpoints.opened(("t", 0), log)
    for end_offset in (7, 5):
        log.truncate_to(end_offset)
        lines = (tmp_path / CLEANER_CHECKPOINT).read_text().splitlines()
        assert lines[2:] == ["other 0 4", f"t 0 {end_offset}"]
    assert not files.synced
    for _ in range(2):
        for write in checkpoints.cleaned():
            write()
    assert files.synced == [CLEANER_CHECKPOINT]
    log.close()


def test_only_changed_checkpoints_are_written(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        log = directory.open_log("orders", 2, LogConfig())
        append(log, b"x")
        checkpoints = DirectoryCheckpoints(tmp_path, FILES)

        def written() -> int:
            steps = [step for step in checkpoints.steps(directory.all_logs) if step is not None]
            for write in steps:
                write()
            return len(steps)

        assert written() == 3
        assert written() == 0
        append(log, b"y")
        assert written() == 1  # the high watermark only: nothing was flushed
        text = (tmp_path / "replication-offset-checkpoint").read_text()
        assert text == "0\n1\norders 2 2\n"
        log.flush()
        assert written() == 1
        text = (tmp_path / "recovery-point-offset-checkpoint").read_text()
        assert text == "0\n1\norders 2 2\n"


def test_a_start_that_the_first_segment_s_name_tells_is_left_out(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        log = directory.open_log("orders", 2, LogConfig())
        append(log, b"x")
        append(log, b"y")
        directory.checkpoint()
        path = tmp_path / "log-start-offset-checkpoint"
        assert path.read_text() == "0\n0\n"
        log.delete_records_before(1)
        directory.checkpoint()
        assert path.read_text() == "0\n1\norders 2 1\n"


def test_the_start_of_a_log_that_is_not_open_is_kept(tmp_path: Path) -> None:
    topic_id = uuid.uuid4()
    with opened(tmp_path) as directory:
        for topic in ("open", "not-open"):
            log = directory.open_log(topic, 0, LogConfig(), topic_id=topic_id)
            for _ in range(3):
                append(log, b"x")
            log.delete_records_before(2)
    with opened(tmp_path) as directory:
        directory.open_log("open", 0, LogConfig(), topic_id=topic_id)
        directory.checkpoint()
        lines = (tmp_path / "log-start-offset-checkpoint").read_text().splitlines()
        assert sorted(lines[2:]) == ["not-open 0 2", "open 0 2"]


def test_a_deleted_log_is_forgotten(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        append(directory.open_log("t", 0, LogConfig()), b"x")
        directory.checkpoint()
        directory.delete_log("t", 0)
        directory.checkpoint()
        for name in ("recovery-point-offset", "log-start-offset", "replication-offset"):
            assert (tmp_path / f"{name}-checkpoint").read_text() == "0\n0\n"


def with_a_start(path: Path) -> LogDirectory:
    """A log of three records, of which two are deleted, is in the checkpoints."""
    directory = open_directory(path)
    log = directory.open_log("t", 0, LogConfig())
    for _ in range(3):
        append(log, b"old")
    log.delete_records_before(2)
    directory.checkpoint()
    return directory


def test_a_log_of_a_deleted_one_s_name_begins_anew_after_a_crash(tmp_path: Path) -> None:
    """The checkpoint of the deleted log was the last one: its start is behind the new log's end."""
    directory = with_a_start(tmp_path)
    directory.delete_log("t", 0)
    append(directory.open_log("t", 0, LogConfig()), b"new")
    for _ in directory.abandoning():
        pass
    with opened(tmp_path) as directory:
        log = directory.open_log("t", 0, LogConfig())
        assert (log.log_start_offset, log.log_end_offset) == (0, 1)


def test_a_crash_before_the_new_log_changes_nothing(tmp_path: Path) -> None:
    """The files name a log that is not there: what is opened under its name is another one."""
    directory = with_a_start(tmp_path)
    for _ in directory.abandoning():
        pass
    shutil.rmtree(tmp_path / "t-0")
    for _ in range(2):
        directory = open_directory(tmp_path)
        log = directory.open_log("t", 0, LogConfig())
        append(log, b"new")
        for _ in directory.abandoning():
            pass
    with opened(tmp_path) as directory:
        log = directory.open_log("t", 0, LogConfig())
        assert (log.log_start_offset, log.log_end_offset) == (0, 2)


def test_a_new_name_waits_for_no_file(tmp_path: Path) -> None:
    """On a full disk, say: only the log of a deleted one's name needs its offsets gone."""

    class Full(Files):
        is_full = False

        def rename(self, source: Path, target: Path) -> None:
            if self.is_full and source.name.endswith("offset-checkpoint.tmp"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            super().rename(source, target)

    files = Full()
    with opened(tmp_path, open_files=OpenFiles(files=files)) as directory:
        append(directory.open_log("t", 0, LogConfig()), b"x")
        directory.checkpoint()
        directory.delete_log("t", 0)
        directory.make_way(tmp_path / "t-0")
        files.is_full = True
        append(directory.open_log("u", 0, LogConfig()), b"y")
        with pytest.raises(KafkaError, match="No space left"):
            directory.open_log("t", 0, LogConfig())
        files.is_full = False
        append(directory.open_log("t", 0, LogConfig()), b"z")


def test_the_files_forget_a_deleted_log_when_its_directory_is_renamed(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        append(directory.open_log("t", 0, LogConfig()), b"x")
        directory.checkpoint()
        directory.delete_log("t", 0)
        for step in directory.move_deleted():
            if isinstance(step, DiskWait):
                step()
        assert read_offsets(FILES, tmp_path / HIGH_WATERMARK_CHECKPOINT) == {}


def test_a_crash_finds_the_start_that_was_kept(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    log = directory.open_log("t", 0, LogConfig())
    for _ in range(3):
        append(log, b"x")
    directory.checkpoint()
    log.delete_records_before(2)
    for _ in directory.keeping_starts([log]):
        pass
    for _ in directory.abandoning():
        pass
    with opened(tmp_path) as directory:
        assert directory.open_log("t", 0, LogConfig()).log_start_offset == 2


def test_what_was_gathered_earlier_does_not_undo_a_start_that_was_kept(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0", LogConfig(), now_ms=lambda: NOW_MS)
    for _ in range(3):
        append(log, b"x")
    log.delete_records_before(1)
    checkpoints = DirectoryCheckpoints(tmp_path, FILES)
    late = [step for step in checkpoints.steps([(("t", 0), log)]) if step is not None]
    log.delete_records_before(2)
    for step in checkpoints.starts([(("t", 0), log)]):
        if step is not None:
            step()
    for step in late:
        step()
    assert read_offsets(FILES, tmp_path / LOG_START_OFFSET_CHECKPOINT) == {("t", 0): 2}


def test_two_jobs_write_at_the_same_time(tmp_path: Path) -> None:
    log = open_log(tmp_path / "t-0", LogConfig(), now_ms=lambda: 0)
    checkpoints = DirectoryCheckpoints(tmp_path, Slow())
    failures: list[OSError] = []

    def write(barrier: Barrier) -> None:
        steps = [step for step in checkpoints.steps([(("t", 0), log)]) if step is not None]
        barrier.wait()
        try:
            for step in steps:
                step()
        except OSError as error:
            failures.append(error)

    barrier = Barrier(2)
    threads = [Thread(target=write, args=(barrier,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert read_offsets(FILES, tmp_path / HIGH_WATERMARK_CHECKPOINT) == {("t", 0): 0}


class Slow(Files):
    """A disk on which two that write the same file meet."""

    def sync(self, descriptor: int) -> None:
        time.sleep(0.02)
        super().sync(descriptor)


def test_the_checkpoints_of_very_many_logs_take_small_steps(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        fill(directory, LogConfig())
        for _ in range(2):  # all is new; nothing is
            count, longest = longest_step_seconds(directory.checkpoint_steps())
            assert count >= MANY
            assert longest < MOST_SECONDS
        empty(directory)


def test_a_new_log_waits_for_no_disk_if_the_files_have_forgotten_its_name(tmp_path: Path) -> None:
    class Counting(Files):
        synced = 0

        def sync(self, descriptor: int) -> None:
            self.synced += 1
            super().sync(descriptor)

    files = Counting()
    with opened(tmp_path, open_files=OpenFiles(files=files)) as directory:
        for topic in ("t", "u"):
            append(directory.open_log(topic, 0, LogConfig()), b"x")
        directory.checkpoint()
        directory.delete_log("t", 0)
        assert not list(directory.forgetting({"u", "v"}))
        waits = list(directory.forgetting({"t", "v"}))
        assert waits
        assert all(isinstance(wait, DiskWait) for wait in waits)
        synced = files.synced
        directory.open_log("t", 0, LogConfig())
        assert files.synced == synced
