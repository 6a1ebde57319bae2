"""Deleted logs: offline at once, renamed by the next step, removed after their delay."""

import errno
import logging
import os
import shutil
from pathlib import Path

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.files import Files
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.errors import KafkaError
from tests.log.directories import NOW_MS, append, opened
from tests.log.many_segments import CountedFiles


def test_a_deleted_log_is_gone_at_once_and_removed_later(tmp_path: Path) -> None:
    now = NOW_MS
    directory = LogDirectory.open(tmp_path, cluster_id=None, node_id=1, now_ms=lambda: now)
    log = directory.open_log("t", 0, LogConfig())
    append(log, b"x")
    records = log.read(0, 1000, upper_bound=1).records
    directory.delete_log("t", 0)
    assert log.offline_reason == "deleted"
    assert directory.open_log("t", 0, LogConfig()).log_end_offset == 0
    assert not isinstance(records, bytes)
    assert len(records.read()) == len(records)
    records.close()
    list(directory.remove_deleted())
    assert [path.name.endswith("-delete") for path in tmp_path.glob("t-0.*")] == [True]
    now += 60_000
    list(directory.remove_deleted())
    assert list(tmp_path.glob("t-0.*")) == []
    with pytest.raises(KafkaError):
        log.append(b"", leader_epoch=0)
    directory.close()


def test_what_a_deletion_left_is_removed_at_the_start(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        append(directory.open_log("t", 0, LogConfig()), b"x")
        directory.delete_log("t", 0)
    with opened(tmp_path) as directory:
        assert directory.partitions() == []
        assert list(tmp_path.glob("t-0*")) == []


class StubbornFiles(Files):
    """Directories cannot be removed while `is_stuck`."""

    is_stuck = True

    def remove_directory(self, path: Path) -> None:
        if self.is_stuck:
            raise OSError(errno.EBUSY, "Device or resource busy")
        super().remove_directory(path)


def test_a_directory_that_cannot_be_removed_is_tried_again_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = StubbornFiles()
    with opened(tmp_path, open_files=OpenFiles(files=files)) as directory:
        config = LogConfig(file_delete_delay_ms=0)
        append(directory.open_log("t", 0, config), b"x")
        directory.delete_log("t", 0)
        with caplog.at_level(logging.WARNING):
            for _ in range(3):
                list(directory.remove_deleted())
        assert [each.getMessage() for each in caplog.records] == [
            f"{tmp_path}: [Errno 16] Device or resource busy"
        ]
        assert len(list(tmp_path.glob("t-0.*-delete"))) == 1
        files.is_stuck = False
        list(directory.remove_deleted())
        assert list(tmp_path.glob("t-0*")) == []


class FullFiles(Files):
    """Directories cannot be renamed while `is_full`."""

    is_full = True

    def rename(self, source: Path, target: Path) -> None:
        if self.is_full and source.is_dir():
            code = errno.ENOSPC
            raise OSError(code, os.strerror(code), str(source), None, str(target))
        super().rename(source, target)


def test_a_directory_that_cannot_be_renamed_is_tried_again_and_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = FullFiles()
    with opened(tmp_path, open_files=OpenFiles(files=files)) as directory:
        append(directory.open_log("t", 0, LogConfig()), b"x")
        directory.delete_log("t", 0)
        for _ in range(3):
            list(directory.move_deleted())
        assert len(caplog.records) == 1, caplog.text
        files.is_full = False
        list(directory.move_deleted())
        assert len(list(tmp_path.glob("t-0.*-delete"))) == 1
        assert directory.failure is None


def test_a_directory_that_was_removed_needs_no_removal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(tmp_path) as directory:
        for topic in ("t", "u"):
            append(directory.open_log(topic, 0, LogConfig()), b"x")
        shutil.rmtree(tmp_path / "t-0")
        directory.delete_log("t", 0)
        for _ in range(3):
            list(directory.remove_deleted())
        assert caplog.messages == [f"{tmp_path}/t-0: deleted, and was gone already"]
        append(directory.open_log("t", 0, LogConfig()), b"y")
        assert directory.failure is None


def test_a_job_that_comes_too_late_for_a_deleted_log_says_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It has begun before the deletion: a flush, a round of compaction."""
    with opened(tmp_path) as directory:
        log = directory.open_log("t", 0, LogConfig(file_delete_delay_ms=0))
        append(log, b"x")
        directory.delete_log("t", 0)
        list(directory.remove_deleted())
        error = log.storage_error(FileNotFoundError(errno.ENOENT, "No such file or directory"))
        assert error.message == "t-0: deleted"
        assert caplog.messages == []
        assert directory.failure is None


def test_each_deleted_log_is_renamed_in_a_step_of_its_own(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        for i in range(3):
            append(directory.open_log("t", i, LogConfig()), b"x")
            directory.delete_log("t", i)
        assert len(list(tmp_path.glob("t-?"))) == 3  # not renamed yet
        steps = directory.move_deleted()
        for left in (2, 1, 0):
            next(steps)
            assert len(list(tmp_path.glob("t-?"))) == left
        assert len(list(tmp_path.glob("t-?.*-delete"))) == 3


def test_a_directory_without_a_topic_is_discarded_or_set_aside(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        for name in ("gone-0", "kept-0"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "file").write_bytes(b"x")
        directory.discard(tmp_path / "gone-0")
        aside = directory.set_aside(tmp_path / "kept-0")
        assert not (tmp_path / "gone-0").exists()
        list(directory.remove_deleted())
        assert list(tmp_path.glob("gone-0*")) == []
        assert aside.name.startswith("kept-0.")
        assert aside.name.endswith("-stray")
        assert (aside / "file").read_bytes() == b"x"


@pytest.mark.parametrize("is_made_again", [False, True])
def test_the_files_of_many_segments_are_closed_some_at_a_time(
    tmp_path: Path, is_made_again: bool
) -> None:
    files = CountedFiles()
    with opened(tmp_path, open_files=OpenFiles(files=files)) as directory:
        config = LogConfig(segment_bytes=80)
        log = directory.open_log("t", 0, config)
        for _ in range(300):
            append(log, b"x")
        assert len(directory.open_files) == 300
        files.count = 0
        directory.delete_log("t", 0)
        assert files.count == 0
        if is_made_again:
            directory.open_log("t", 0, config)
        assert len(directory.open_files) == 300
        assert 100 <= files.most_in_one_go(directory.move_deleted()) <= 110
        assert len(directory.open_files) == 0
        assert len(log.segments) == 1


def test_files_that_are_left_open_between_two_steps_are_closed_by_the_next_round(
    tmp_path: Path,
) -> None:
    with opened(tmp_path) as directory:
        log = directory.open_log("t", 0, LogConfig(segment_bytes=80))
        for _ in range(300):
            append(log, b"x")
        directory.delete_log("t", 0)
        steps = directory.move_deleted()
        while len(directory.open_files) == 300:
            next(steps)
        del steps
        assert len(directory.open_files) > 0
        list(directory.move_deleted())
        assert len(directory.open_files) == 0


def test_abandoned_files_of_many_segments_are_closed_some_at_a_time(tmp_path: Path) -> None:
    files = CountedFiles()
    with opened(tmp_path, open_files=OpenFiles(files=files)) as directory:
        log = directory.open_log("t", 0, LogConfig(segment_bytes=80))
        for _ in range(300):
            append(log, b"x")
        assert 100 <= files.most_in_one_go(directory.abandoning()) <= 110
        assert len(directory.open_files) == 0
