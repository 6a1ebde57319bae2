"""A follower appends in pieces: whole batches, or a large one beyond the log's end first."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from kafkalite.log.accepted_batch import PIECE_BYTES
from kafkalite.log.config import LogConfig
from kafkalite.log.follower_append import appending_as_follower
from kafkalite.log.log import Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import Record, build_batch
from tests.log.conftest import START_MS, Disk
from tests.log.faults import FullFiles, RecordedFiles

Steps = list[Callable[[], None] | None]

CONFIG = LogConfig(max_message_bytes=1 << 30)
EPOCH = 4
# The same number of bytes as three pieces, and a header.
LARGE = b"l" * (3 * PIECE_BYTES)


def batch(value: bytes, offset: int, epoch: int = EPOCH) -> bytes:
    record = Record(timestamp=START_MS, value=value)
    return build_batch([record], base_offset=offset, partition_leader_epoch=epoch)


@pytest.fixture
def log(disk: Disk) -> Log:
    return disk.log(config=CONFIG)


def appended(log: Log, records: bytes, epoch: int = EPOCH) -> Steps:
    """The steps; those that a thread may take are taken."""
    taken: Steps = []
    for step in appending_as_follower(log, records, epoch):
        if step is not None:
            step()
        taken.append(step)
    return taken


def bytes_of(log: Log) -> bytes:
    paths = [segment.file.path for segment in log.segments]
    return b"".join(path.read_bytes() for path in paths if path.exists())


def test_a_few_batches_are_one_step(log: Log) -> None:
    records = batch(b"a", 0) + batch(b"b", 1)
    assert appended(log, records) == [None]
    assert (bytes_of(log), log.log_end_offset) == (records, 2)


def test_nothing_is_no_step(log: Log) -> None:
    assert appended(log, b"") == []
    assert appended(log, batch(b"a", 0)[:-1]) == []


def test_many_small_batches_are_several_steps(log: Log) -> None:
    records = b"".join(batch(b"", offset) for offset in range(2_500))
    assert appended(log, records) == [None] * 3
    assert bytes_of(log) == records


def test_many_bytes_are_several_steps(log: Log) -> None:
    records = b"".join(batch(bytes(PIECE_BYTES // 3), offset) for offset in range(8))
    assert appended(log, records) == [None] * 4
    assert bytes_of(log) == records


def test_a_large_batch_is_checked_by_a_thread_and_written_in_pieces(log: Log) -> None:
    records = batch(b"a", 0) + batch(LARGE, 1) + batch(b"b", 2)
    ends: list[int] = []
    for step in appending_as_follower(log, records, EPOCH):
        ends.append(log.log_end_offset)
        if step is not None:
            assert bytes_of(log) == batch(b"a", 0)
            step()
    # Ends after the small one, before the check, after two pieces, the large one, the last one.
    assert ends == [1, 1, 1, 1, 2, 3]
    assert bytes_of(log) == records
    assert log.leader_epochs.latest == EPOCH


def test_no_write_is_longer_than_a_piece(disk: Disk) -> None:
    files = RecordedFiles()
    disk.open_files = OpenFiles(files=files)
    appended(disk.log(config=CONFIG), batch(LARGE, 0))
    assert max(files.written) == PIECE_BYTES


def test_a_large_batch_keeps_its_offset_and_epoch(log: Log) -> None:
    """There is a gap before it, and it is of an earlier leader."""
    records = batch(LARGE, 70, epoch=2)
    appended(log, records)
    assert (bytes_of(log), log.log_end_offset) == (records, 71)
    assert log.leader_epochs.latest == 2


def test_batches_of_a_later_epoch_are_left_out(log: Log) -> None:
    batches = [batch(b"v", offset, epoch) for offset, epoch in enumerate((3, 4, 5, 4))]
    appended(log, b"".join(batches))
    assert bytes_of(log) == b"".join(batches[:2])


def test_a_large_batch_of_a_later_epoch_is_left_out(log: Log) -> None:
    assert appended(log, batch(LARGE, 0, EPOCH + 1)) == []
    assert bytes_of(log) == b""


def test_a_large_batch_that_is_corrupt_is_refused(log: Log) -> None:
    appended(log, batch(b"a", 0))
    records = batch(LARGE, 1)
    for take in (appended, lambda log, records: list(appending_as_follower(log, records, EPOCH))):
        with pytest.raises(KafkaError, match="stored crc") as refused:
            take(log, records[:-1] + b"?")
        assert refused.value.code is ErrorCode.CORRUPT_MESSAGE
        assert bytes_of(log) == batch(b"a", 0)
    appended(log, records)
    assert log.log_end_offset == 2


def test_what_was_not_appended_is_cut_off(log: Log) -> None:
    steps = appending_as_follower(log, batch(LARGE, 0), EPOCH)
    size = 0
    while size < PIECE_BYTES:
        next(steps)
        size = len(bytes_of(log))
    assert log.log_end_offset == 0
    steps.close()
    assert bytes_of(log) == b""


def test_a_full_disk_leaves_nothing_of_a_large_batch(disk: Disk) -> None:
    files = FullFiles()
    disk.open_files = OpenFiles(files=files)
    log = disk.log(config=CONFIG)
    appended(log, batch(b"a", 0))
    steps = appending_as_follower(log, batch(LARGE, 1), EPOCH)
    while len(bytes_of(log)) < PIECE_BYTES:
        next(steps)
    files.is_full = True
    with pytest.raises(KafkaError) as refused:
        list(steps)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert (bytes_of(log), log.log_end_offset) == (batch(b"a", 0), 1)


def test_a_crash_leaves_a_torn_batch_that_is_cut_off(disk: Disk, log: Log) -> None:
    steps = appending_as_follower(log, batch(b"a", 0) + batch(LARGE, 1), EPOCH)
    while len(bytes_of(log)) < PIECE_BYTES:
        next(steps)
    shutil.copytree(log.directory, disk.root / "crashed-0")
    crashed = disk.log("crashed-0", CONFIG)
    assert (bytes_of(crashed), crashed.log_end_offset) == (batch(b"a", 0), 1)
