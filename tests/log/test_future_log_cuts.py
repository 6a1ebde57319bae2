"""A log is cut, or its move is cancelled, while it moves; large batches take several steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalite.log.accepted_batch import PIECE_BYTES
from kafkalite.log.directory import LogDirectory
from kafkalite.log.disk_wait import DiskWait, Waits, without_threads
from kafkalite.log.future_log import LogMove
from kafkalite.log.log import Log
from kafkalite.log.manager import LogManager
from tests.log.conftest import read_all
from tests.log.test_future_log import CONFIG, append, begin, carry, opened


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[LogManager]:
    manager = opened(tmp_path)
    yield manager
    manager.close()


def cut_and_grown(log: Log) -> None:
    """A follower whose leader changed: it ends where it did, with other records."""
    end = log.log_end_offset
    log.truncate_to(end - 4)
    append(log, *(b"other %d" % i for i in range(4)), epoch=2)
    assert log.log_end_offset == end


def caught_up(manager: LogManager) -> tuple[Log, LogMove]:
    log, target = begin(manager)
    for i in range(10):
        append(log, b"%d" % i, epoch=1)
    move = manager.begin_move("t", 0, target)
    move.step()
    assert move.is_caught_up
    return log, move


def test_a_log_that_is_cut_while_it_is_copied(manager: LogManager) -> None:
    log, move = caught_up(manager)
    cut_and_grown(log)
    append(log, b"last", epoch=2)
    expected = read_all(log)
    assert read_all(carry(manager, move)) == expected


def test_a_log_that_is_cut_just_before_its_copy_takes_over(manager: LogManager) -> None:
    log, move = caught_up(manager)

    def assign(directory: LogDirectory) -> Waits[None]:
        cut_and_grown(log)
        yield from ()

    without_threads(manager.finishing_move(move, assign, lambda log: None))
    assert not move.has_finished
    expected = read_all(log)
    assert read_all(carry(manager, move)) == expected


def moving_large(manager: LogManager) -> tuple[Log, LogMove]:
    log, target = begin(manager)
    log.config = dataclasses.replace(CONFIG, segment_bytes=1 << 30, max_message_bytes=1 << 30)
    append(log, b"small", epoch=1)
    append(log, b"l" * (3 * PIECE_BYTES), epoch=1)
    move = manager.begin_move("t", 0, target)
    while move.future.log_end_offset < 1:
        move.step()
    return log, move


def test_a_large_batch_is_copied_in_pieces(manager: LogManager) -> None:
    log, move = moving_large(manager)
    expected = read_all(log)
    # To read it, to check it, three pieces.
    assert len(list(move.stepping())) > 4
    assert move.is_caught_up
    assert read_all(carry(manager, move)) == expected


@pytest.mark.parametrize("steps_before", range(5))
def test_a_log_that_is_cut_while_a_large_batch_is_copied(
    manager: LogManager, steps_before: int
) -> None:
    log, move = moving_large(manager)
    steps = move.stepping()
    for _ in range(steps_before + 1):
        next(steps)
    log.truncate_to(1)
    append(log, b"other", epoch=2)
    assert without_threads(steps) == 0
    expected = read_all(log)
    assert read_all(carry(manager, move)) == expected


def test_a_move_is_cancelled_while_a_large_batch_is_copied(manager: LogManager) -> None:
    _, move = moving_large(manager)
    steps = move.stepping()
    for _ in range(3):
        next(steps)
    manager.cancel_move("t", 0)
    with pytest.raises(StopIteration):
        next(steps)


@pytest.mark.parametrize("when", range(1, 4))
def test_records_that_are_deleted_at_the_end_of_a_move_stay_deleted(
    tmp_path: Path, when: int
) -> None:
    """DeleteRecords comes while the move waits for the disk for the n-th time."""
    manager = opened(tmp_path)
    log, target = begin(manager)
    for i in range(8):
        append(log, b"%d" % i, b"more")
    move = manager.begin_move("t", 0, target)
    assigned: list[str] = []

    def assign(directory: LogDirectory) -> Waits[None]:
        assigned.append(directory.directory_id)
        yield DiskWait(lambda: None)

    count = 0
    while not move.has_finished:
        while not move.is_caught_up:
            move.step()
        for _ in manager.finishing_move(move, assign, lambda log: None):
            count += 1
            if count == when:
                log.delete_records_before(5)
                without_threads(log_directory_of(manager).keeping_starts([log]))
    moved = manager.get("t", 0)
    assert moved is not None
    assert moved.log_start_offset == 5
    for _ in manager.abandoning():
        pass
    manager = opened(tmp_path)
    manager.stored_partitions()
    assert manager.open_log("t", 0, CONFIG, assigned=assigned).log_start_offset == 5
    manager.close()


def log_directory_of(manager: LogManager) -> LogDirectory:
    (directory,) = (each for each in manager.directories if ("t", 0) in each.logs)
    return directory
