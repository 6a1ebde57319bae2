"""Large batches: written in pieces, appended with the last, and gone if they are not appended."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path

import pytest

from kafkalite.log.acceptance import accept
from kafkalite.log.accepted_batch import PIECE_BYTES, AcceptedBatch
from kafkalite.log.config import LogConfig
from kafkalite.log.errors import TakesLong
from kafkalite.log.large_batch import append_large
from kafkalite.log.log import Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import ATTRIBUTES_POSITION, Record, build_batch
from tests.log.conftest import START_MS, Disk
from tests.log.faults import FullFiles, RecordedFiles

LARGE = LogConfig(max_message_bytes=1 << 30)
PIECES = 4

Values = Callable[[Log], list[bytes | None]]


def value(fill: bytes, pieces: int = PIECES) -> bytes:
    """A record's value; its batch is a little longer than so many pieces."""
    return fill * (pieces * PIECE_BYTES)


def large(fill: bytes = b"a") -> bytes:
    return build_batch([Record(timestamp=START_MS, value=value(fill))])


class Appending:
    """A batch on its way into a log."""

    def __init__(self, log: Log, records: bytes) -> None:
        found = accept(records, log.config, START_MS)
        assert found is not None
        self.batch: AcceptedBatch = found
        append = partial(log.append, records, leader_epoch=0, checked=lambda: found)
        self.steps: Generator[None] = append_large(log, found, append)

    def finish(self) -> int:
        """Take all steps; returns how many there were."""
        return sum(1 for _ in self.steps)


def begun(disk: Disk) -> tuple[Log, Appending]:
    """A log with a record, and a large batch of which a piece is written."""
    log = disk.log(config=LARGE)
    disk.append(log, b"before")
    appending = Appending(log, large())
    next(appending.steps)
    return log, appending


def file_of(log: Log) -> Path:
    return log.segments.active.file.path


def test_a_large_batch_takes_long() -> None:
    records = large()
    with pytest.raises(TakesLong):
        accept(records, LARGE, START_MS, briefly=True)
    small = build_batch([Record(timestamp=START_MS, value=value(b"a", 1)[:-100])])
    assert accept(small, LARGE, START_MS, briefly=True) is not None


def test_no_write_is_longer_than_a_piece(disk: Disk, values: Values) -> None:
    files = RecordedFiles()
    disk.open_files = OpenFiles(files=files)
    log = disk.log(config=LARGE)
    disk.append(log, b"before")
    files.written.clear()
    records = large()
    assert Appending(log, records).finish() == PIECES - 1
    assert max(files.written) == PIECE_BYTES
    # The head, for a batch that is torn, and again with its offset.
    assert sum(files.written) == len(records) + ATTRIBUTES_POSITION
    assert values(log) == [b"before", value(b"a")]
    assert file_of(log).stat().st_size == log.size_bytes


def test_a_small_one_is_appended_at_once(disk: Disk, values: Values) -> None:
    log = disk.log(config=LARGE)
    assert Appending(log, disk.batch(b"small")).finish() == 0
    assert values(log) == [b"small"]


def test_others_append_in_between(disk: Disk, values: Values) -> None:
    log = disk.log(config=LARGE)
    appending = Appending(log, large())
    next(appending.steps)
    next(appending.steps)
    assert file_of(log).stat().st_size > 2 * PIECE_BYTES
    disk.append(log, b"other")
    assert file_of(log).stat().st_size == log.size_bytes
    assert appending.finish() == PIECES - 1
    assert values(log) == [b"other", value(b"a")]
    assert file_of(log).stat().st_size == log.size_bytes


def test_another_of_some_size_is_appended_whole_in_between(disk: Disk, values: Values) -> None:
    """The head and the rest of a batch of more than 32 KB are written apart."""
    log = disk.log(config=LARGE)
    appending = Appending(log, large())
    next(appending.steps)
    disk.append(log, b"o" * 100_000)
    assert values(log) == [b"o" * 100_000]
    appending.finish()
    assert values(log) == [b"o" * 100_000, value(b"a")]


def test_two_of_them_do_not_undo_each_other(disk: Disk, values: Values) -> None:
    files = RecordedFiles()
    disk.open_files = OpenFiles(files=files)
    log = disk.log(config=LARGE)
    both = [Appending(log, large(b"a")), Appending(log, large(b"b"))]
    waiting = [each.steps for each in both]
    while waiting:
        waiting = [each for each in waiting if next(each, both) is not both]
    assert values(log) == [value(b"a"), value(b"b")]
    assert sum(files.written) < 2 * len(large()) + 1000


def test_where_others_append_all_the_time_it_is_appended_in_the_end(
    disk: Disk, values: Values
) -> None:
    log = disk.log(config=LARGE)
    count = 0
    for _ in Appending(log, large()).steps:
        disk.append(log, b"other")
        count += 1
    assert values(log) == [*[b"other"] * count, value(b"a")]


@pytest.mark.parametrize("taken", range(PIECES))
def test_after_a_crash_nothing_of_it_is_there(disk: Disk, values: Values, taken: int) -> None:
    log = disk.log(config=LARGE)
    disk.append(log, b"before")
    appending = Appending(log, large())
    for _ in range(taken):
        next(appending.steps, None)
    shutil.copytree(disk.root / "topic-0", disk.root / "crashed-0")
    crashed = disk.log("crashed-0", LARGE)
    assert values(crashed) == [b"before"]
    assert file_of(crashed).stat().st_size == crashed.size_bytes
    disk.append(crashed, b"after")
    assert values(crashed) == [b"before", b"after"]


def refuse() -> None:
    raise KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


def test_one_that_is_refused_leaves_nothing(disk: Disk) -> None:
    log = disk.log(config=LARGE)
    disk.append(log, b"before")
    batch = Appending(log, large()).batch
    with pytest.raises(KafkaError):
        list(append_large(log, batch, refuse))
    assert file_of(log).stat().st_size == log.size_bytes


def test_one_whose_request_is_given_up_leaves_nothing(disk: Disk) -> None:
    log = disk.log(config=LARGE)
    appending = Appending(log, large())
    next(appending.steps)
    appending.steps.close()
    assert file_of(log).stat().st_size == log.size_bytes == 0


def test_a_clean_shutdown_leaves_nothing(disk: Disk, values: Values) -> None:
    log, appending = begun(disk)
    log.close()
    again = disk.log(config=LARGE, clean_shutdown=True)
    disk.append(again, b"after")
    # The request is given up after the log was opened again.
    appending.steps.close()
    assert values(again) == [b"before", b"after"]
    assert file_of(again).stat().st_size == again.size_bytes


def test_a_log_that_was_left_without_closing_it_is_left_alone(disk: Disk, values: Values) -> None:
    log, appending = begun(disk)
    log.close_files()
    again = disk.log(config=LARGE)
    disk.append(again, b"after")
    appending.steps.close()
    assert values(again) == [b"before", b"after"]


def test_a_log_that_went_offline_is_left_alone(disk: Disk) -> None:
    log, appending = begun(disk)
    log.offline_reason = "its disk is gone"
    size = file_of(log).stat().st_size
    with pytest.raises(KafkaError, match="its disk is gone"):
        appending.finish()
    assert file_of(log).stat().st_size == size


def test_a_full_disk_refuses_it(disk: Disk, values: Values) -> None:
    files = FullFiles()
    disk.open_files = OpenFiles(files=files)
    log, appending = begun(disk)
    files.is_full = True
    with pytest.raises(KafkaError) as caught:
        appending.finish()
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert file_of(log).stat().st_size == log.size_bytes
    files.is_full = False
    assert Appending(log, large()).finish() == PIECES - 1
    assert values(log) == [b"before", value(b"a")]


def test_it_begins_a_segment_where_it_has_no_room(disk: Disk, values: Values) -> None:
    config = LogConfig(max_message_bytes=1 << 30, segment_bytes=(PIECES + 1) * PIECE_BYTES)
    log = disk.log(config=config)
    disk.append(log, b"b" * PIECE_BYTES)
    assert len(log.segments) == 1
    Appending(log, large()).finish()
    assert len(log.segments) == 2
    assert values(log) == [b"b" * PIECE_BYTES, value(b"a")]


def test_after_a_cut_it_begins_anew(disk: Disk, values: Values) -> None:
    log = disk.log(config=LARGE)
    for each in (b"1", b"2" * 1000):
        disk.append(log, each)
    appending = Appending(log, large())
    next(appending.steps)
    log.truncate_to(1)
    assert appending.finish() == PIECES - 1
    assert values(log) == [b"1", value(b"a")]


def test_a_log_that_is_cut_or_follows_in_between_has_its_own_bytes(
    disk: Disk, values: Values
) -> None:
    log = disk.log(config=LARGE)
    for each in (b"1", b"2"):
        disk.append(log, each)
    appending = Appending(log, large())
    next(appending.steps)
    log.truncate_to(1)
    assert file_of(log).stat().st_size == log.size_bytes
    next(appending.steps)
    log.append_as_follower(disk.batch(b"3", base_offset=1))
    assert values(log) == [b"1", b"3"]
    appending.finish()
    assert values(log) == [b"1", b"3", value(b"a")]
