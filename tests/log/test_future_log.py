"""A log moves to another data directory while it is in use."""

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkalite.log.cleaner import Cleaner
from kafkalite.log.config import LogConfig
from kafkalite.log.directory import LogDirectory
from kafkalite.log.disk_wait import DiskWait, Waits, run_steps, without_threads
from kafkalite.log.files import Files
from kafkalite.log.flushing import MOST_SEGMENTS
from kafkalite.log.future_log import LogMove
from kafkalite.log.log import AppendOrigin, Log
from kafkalite.log.manager import LogManager
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import Record, build_batch
from tests.log.conftest import read_all
from tests.log.faults import PromptFiles

NOW_MS = 1_700_000_000_000
CONFIG = LogConfig(segment_bytes=1500, index_interval_bytes=100, file_delete_delay_ms=0)


def opened(root: Path, files: Files | None = None) -> LogManager:
    """A manager of two data directories, `a` and `b`."""
    return LogManager(
        [
            LogDirectory.open(
                root / name,
                cluster_id="c" * 22,
                node_id=1,
                now_ms=lambda: NOW_MS,
                open_files=OpenFiles(files=files or PromptFiles()),
            )
            for name in "ab"
        ]
    )


def append(log: Log, *values: bytes, epoch: int = 0, **fields: Any) -> None:
    records = [
        Record(timestamp=NOW_MS, key=b"key-%d" % (len(value) % 3), value=value) for value in values
    ]
    log.append(build_batch(records, **fields), leader_epoch=epoch)
    log.advance_high_watermark(log.log_end_offset)


def end(log: Log, producer_id: int, *, commit: bool) -> None:
    marker = build_end_transaction_marker(
        producer_id=producer_id,
        producer_epoch=0,
        commit=commit,
        coordinator_epoch=0,
        timestamp=NOW_MS,
    )
    log.append(marker, leader_epoch=0, origin=AppendOrigin.COORDINATOR)
    log.advance_high_watermark(log.log_end_offset)


def carry(manager: LogManager, move: LogMove, assigned: list[str] | None = None) -> Log:
    """Copy and finish; `assigned` gets the id of the directory that counts."""
    for _ in range(10_000):
        move.step()
        if move.is_caught_up:
            break
    return finish(manager, move, [] if assigned is None else assigned)


def no_metadata(directory: LogDirectory) -> Waits[None]:
    yield from ()


def finish(manager: LogManager, move: LogMove, assigned: list[str]) -> Log:
    """The last act, in which no append comes between."""

    def assign(directory: LogDirectory) -> Waits[None]:
        yield DiskWait(lambda: None)
        assigned.append(directory.directory_id)

    without_threads(manager.finishing_move(move, assign, lambda log: None))
    assert move.has_finished
    return move.future


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[LogManager]:
    manager = opened(tmp_path)
    yield manager
    manager.close()


def begin(manager: LogManager) -> tuple[Log, LogDirectory]:
    """A log `t-0` in the first directory, and the other one."""
    first, second = manager.directories
    manager.prefer("t", 0, first)
    return manager.open_log("t", 0, CONFIG), second


def test_the_log_is_the_same_in_another_place(manager: LogManager, tmp_path: Path) -> None:
    log, target = begin(manager)
    for i in range(30):
        append(log, b"%d" % i, b"more", epoch=i // 10)
    append(log, b"open", producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    append(log, b"bad", producer_id=6, producer_epoch=0, base_sequence=0, is_transactional=True)
    end(log, 6, commit=False)
    log.delete_records_before(7)  # in the middle of a batch
    expected = read_all(log)
    held = log.read(7, 1000, upper_bound=20).records
    assert not isinstance(held, bytes)
    data = held.read()

    move = manager.begin_move("t", 0, target)
    assert log.retain() == 0
    moved = carry(manager, move)

    assert manager.get("t", 0) is moved
    assert manager.directory_of("t", 0) == target.path
    assert moved.directory == tmp_path / "b" / "t-0"
    # The files share the directory: that of very many is changed at once.
    for segment in moved.segments:
        for file in (segment.file, *segment.indexes):
            assert file.directory is moved.directory
    assert read_all(moved) == expected
    for name in ("log_start_offset", "log_end_offset", "high_watermark", "last_stable_offset"):
        assert getattr(moved, name) == getattr(log, name), name
    assert moved.leader_epochs.entries == log.leader_epochs.entries
    assert moved.aborted_transactions(0, 100) == log.aborted_transactions(0, 100)
    assert moved.offset_for_timestamp(NOW_MS) == (NOW_MS, 7, 0)
    assert held.read() == data  # what is being sent is sent
    held.close()
    with pytest.raises(KafkaError):
        append(log, b"too late")
    append(moved, b"next", producer_id=5, producer_epoch=0, base_sequence=1, is_transactional=True)
    list(manager.unlink_deleted())
    assert [path.name for path in (tmp_path / "a").glob("t-0*")] == []


def test_producers_whose_records_are_gone_are_still_known(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log, target = begin(manager)
    append(log, b"x" * 1400, producer_id=5, producer_epoch=0, base_sequence=0)
    append(log, b"y" * 1400)
    log.delete_records_before(1)
    log.retain()
    moved = carry(manager, manager.begin_move("t", 0, target))
    assert list(moved.producer_state.producers) == [5]
    manager.close()
    again = opened(tmp_path)
    again.stored_partitions()
    assert list(again.open_log("t", 0, CONFIG).producer_state.producers) == [5]
    again.close()


def test_a_log_all_of_whose_records_are_gone(manager: LogManager) -> None:
    log, target = begin(manager)
    append(log, b"x", b"y")
    log.delete_records_before(2)
    moved = carry(manager, manager.begin_move("t", 0, target))
    assert (moved.log_start_offset, moved.log_end_offset) == (2, 2)
    append(moved, b"z")
    assert [record.offset for record in read_all(moved)] == [2]


def test_a_compacted_log_keeps_its_holes(manager: LogManager) -> None:
    log, target = begin(manager)
    log.config = dataclasses.replace(CONFIG, cleanup_policy=("compact",))
    for i in range(40):
        append(log, b"v" * (i % 3), b"%d" % i)
    run_steps(Cleaner(manager.directories).clean_all())
    expected = read_all(log)
    assert len(expected) < 40
    source, clean_end = manager.directories[0], log.segments.active.base_offset
    assert source.cleaned_up_to == {("t", 0): clean_end}
    moved = carry(manager, manager.begin_move("t", 0, target))
    assert read_all(moved) == expected
    # The clean part is not compacted again.
    assert source.cleaned_up_to == {}
    assert all(step.size_bytes == 0 for step in Cleaner(manager.directories).clean())
    assert target.cleaned_up_to == {("t", 0): clean_end}


@pytest.mark.slow
def test_records_deleted_meanwhile(manager: LogManager) -> None:
    log, target = begin(manager)
    for i in range(200):
        append(log, b"%1000d" % i)
    move = manager.begin_move("t", 0, target)
    assert move.step() > 0
    assert 0 < move.future.log_end_offset < 200
    log.delete_records_before(150)
    moved = carry(manager, move)
    assert moved.log_start_offset == 150
    assert [record.offset for record in read_all(moved)] == list(range(150, 200))


def test_a_move_is_cancelled(manager: LogManager, tmp_path: Path) -> None:
    log, target = begin(manager)
    append(log, b"x")
    move = manager.begin_move("t", 0, target)
    move.step()
    manager.cancel_move("t", 0)
    list(manager.unlink_deleted())
    assert manager.moves == {}
    assert list((tmp_path / "b").glob("t-0*")) == []
    append(log, b"y")
    manager.begin_move("t", 0, target)
    manager.delete_log("t", 0)  # ends it, too
    list(manager.unlink_deleted())
    assert list(tmp_path.glob("*/t-0*")) == []


@pytest.mark.slow
def test_a_move_goes_on_after_a_restart(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log, target = begin(manager)
    for i in range(200):
        append(log, b"%1000d" % i)
    move = manager.begin_move("t", 0, target)
    move.step()
    copied = move.future.log_end_offset
    manager.close()
    again = opened(tmp_path)
    assert [stored.is_future for stored in again.stored_partitions()] == [False, True]
    log = again.open_log("t", 0, CONFIG, assigned=[again.directories[0].directory_id])
    again.resume_moves()
    [move] = again.moves.values()
    assert move.future.log_end_offset == copied
    assert len(read_all(carry(again, move))) == 200
    again.close()


def test_a_future_log_that_went_another_way_is_cut(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log, target = begin(manager)
    for i in range(10):
        append(log, b"%d" % i, epoch=1)
    manager.begin_move("t", 0, target).step()
    log.truncate_to(6)
    manager.close()
    again = opened(tmp_path)
    again.stored_partitions()
    log = again.open_log("t", 0, CONFIG)
    for i in range(10):
        append(log, b"other %d" % i, epoch=2)
    again.resume_moves()
    [move] = again.moves.values()
    assert move.future.log_end_offset == 6
    expected = read_all(log)
    assert read_all(carry(again, move)) == expected
    again.close()


def test_a_log_in_two_places_is_that_of_the_metadata(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    log, _ = begin(manager)
    append(log, b"x")
    manager.close()
    shutil.copytree(tmp_path / "a" / "t-0", tmp_path / "b" / "t-0")
    again = opened(tmp_path)
    again.stored_partitions()
    with pytest.raises(KafkaError, match="remove all but one"):
        again.open_log("t", 0, CONFIG)
    assigned = again.directories[1].directory_id
    assert again.open_log("t", 0, CONFIG, assigned=[assigned]).directory == tmp_path / "b" / "t-0"
    assert not (tmp_path / "a" / "t-0").exists()
    again.close()


def test_a_log_whose_directory_is_missing_is_not_made_anew(manager: LogManager) -> None:
    with pytest.raises(KafkaError) as caught:
        manager.open_log("t", 0, CONFIG, assigned=["x" * 22])
    assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR


def test_flushed_records_stay_flushed(manager: LogManager) -> None:
    """Flushes of the log overtake that of its copy, in every try."""
    log, target = begin(manager)
    append(log, b"x")
    move = manager.begin_move("t", 0, target)
    tries = 0
    while not move.has_finished:
        while not move.is_caught_up:
            move.step()
        tries += 1
        for _ in manager.finishing_move(move, no_metadata, lambda log: None):
            if not move.has_finished:
                append(log, b"more")
                log.flush()
    assert 1 < tries < 100
    assert move.future.recovery_point >= log.recovery_point


def test_the_old_directory_stays_until_the_new_name_is_on_the_disk(manager: LogManager) -> None:
    log, target = begin(manager)
    append(log, b"x")
    old = log.directory
    move = manager.begin_move("t", 0, target)
    move.step()
    waits = manager.finishing_move(move, no_metadata, lambda log: None)
    while not move.has_finished:
        next(waits)
    list(manager.move_deleted())
    assert old.exists()
    manager.delete_log("t", 0)
    manager.prefer("t", 0, manager.directories[0])
    again = manager.open_log("t", 0, CONFIG)  # the same name, in the same place
    assert (again.directory, again.log_end_offset) == (old, 0)
    assert list(waits) == []
    append(again, b"y")
    assert [record.value for record in read_all(again)] == [b"y"]


def test_many_copied_segments_are_all_flushed(manager: LogManager) -> None:
    log, target = begin(manager)
    log.config = dataclasses.replace(CONFIG, segment_bytes=100)
    for _ in range(2 * MOST_SEGMENTS):
        append(log, b"x")
    moved = carry(manager, manager.begin_move("t", 0, target))
    assert len(moved.segments) > MOST_SEGMENTS
    assert moved.recovery_point == moved.log_end_offset == log.log_end_offset
