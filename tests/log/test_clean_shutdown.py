"""`.kafka_cleanshutdown`: there after a clean shutdown, and taken by the next start."""

import os
from pathlib import Path

import pytest

from kafkalite.log.clean_shutdown import mark_clean_shutdown, take_clean_shutdown
from kafkalite.log.config import LogConfig
from kafkalite.log.files import FILES
from tests.log.directories import append, open_directory


def test_the_mark_is_kafka_s_and_is_taken_once(tmp_path: Path) -> None:
    mark_clean_shutdown(tmp_path, FILES, 17)
    path = tmp_path / ".kafka_cleanshutdown"
    assert path.read_text() == '{"version":0,"brokerEpoch":17}'
    assert take_clean_shutdown(tmp_path, FILES) == 17
    assert not path.exists()
    assert take_clean_shutdown(tmp_path, FILES) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"brokerEpoch":null}', "\xff"])
def test_a_mark_without_an_epoch_counts_as_clean(tmp_path: Path, text: str) -> None:
    (tmp_path / ".kafka_cleanshutdown").write_text(text, encoding="latin-1")
    assert take_clean_shutdown(tmp_path, FILES) == -1


def test_a_directory_that_was_not_closed_has_no_mark(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    directory.broker_epoch = 5
    append(directory.open_log("t", 0, LogConfig()), b"x")
    for _ in directory.abandoning():
        pass
    directory = open_directory(tmp_path)
    assert (directory.was_clean_shutdown, directory.previous_broker_epoch) == (False, -1)
    directory.broker_epoch = 6
    directory.close()
    directory = open_directory(tmp_path)
    assert (directory.was_clean_shutdown, directory.previous_broker_epoch) == (True, 6)
    directory.close()


def test_a_step_closes_no_more_than_one_log_and_waits_for_one_disk_write(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    for index in range(4):
        log = directory.open_log("t", index, LogConfig())
        if index % 2:
            append(log, b"x")
    open_before = len(os.listdir("/proc/self/fd"))
    waits = 0
    for step in directory.closing():
        now_open = len(os.listdir("/proc/self/fd"))
        assert now_open >= open_before - 4
        open_before = now_open
        waits += step is not None
    assert waits == 2 + 3, "two logs, three checkpoints"
    directory = open_directory(tmp_path)
    assert directory.was_clean_shutdown
    assert directory.open_log("t", 1, LogConfig()).recovery_point == 1
    directory.close()


def test_a_thread_closes_a_log_of_many_segments(tmp_path: Path) -> None:
    directory = open_directory(tmp_path)
    for topic, count in (("many", 150), ("few", 3)):
        log = directory.open_log(topic, 0, LogConfig(segment_bytes=80))
        for _ in range(count):
            append(log, b"x")
        log.flush()
    steps = directory.closing()
    assert [callable(next(steps)), callable(next(steps))] == [True, False]
    for _ in steps:
        pass


def test_the_flush_of_a_log_that_is_closed_is_told_to_nobody(tmp_path: Path) -> None:
    """A thread may do it, which cannot wake what waits in the loop."""
    directory = open_directory(tmp_path)
    told: list[object] = []
    directory.flush_requests.ended = told.append
    log = directory.open_log("t", 0, LogConfig())
    append(log, b"x")
    log.flush()
    assert told == [log]
    append(log, b"y")
    directory.close()
    assert log.recovery_point == 2
    assert told == [log]
