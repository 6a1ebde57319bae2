"""A segment is appended to, rolls, is cut, renamed and deleted."""

from pathlib import Path

import pytest

from kafkalite.log.config import LogConfig
from kafkalite.log.files import Files
from kafkalite.log.open_files import FileSlice, OpenFiles
from kafkalite.log.segment import LogSegment
from kafkalite.wire.record_batch import Record, build_batch

HOUR_MS = 3_600_000


def batch(offset: int, timestamp: int = 100) -> bytes:
    return build_batch([Record(timestamp=timestamp, value=b"v" * 20)], base_offset=offset)


SIZE = len(batch(0))


INDEX_BYTES = LogConfig().segment_index_bytes


def add(segment: LogSegment, offset: int, timestamp: int = 100) -> None:
    data = batch(offset, timestamp)
    segment.append(b"", data, len(data), offset, offset, timestamp, 0)


def made(path: Path, base_offset: int = 0, files: Files | None = None) -> LogSegment:
    open_files = OpenFiles(files=files or Files())
    return LogSegment.create(path, base_offset, open_files, now_ms=50)


def names(path: Path) -> list[str]:
    return sorted(each.name for each in path.iterdir())


def test_a_log_s_first_segment_has_no_file_before_its_first_batch(tmp_path: Path) -> None:
    first = made(tmp_path)
    assert names(tmp_path) == []
    first.flush()
    first.finish_indexes()
    assert names(tmp_path) == []
    add(first, 0)
    assert names(tmp_path) == [f"{0:020d}.log"]
    made(tmp_path, 7)
    assert names(tmp_path) == [f"{0:020d}.log", f"{7:020d}.log"]


def test_an_old_file_of_the_name_is_emptied(tmp_path: Path) -> None:
    (tmp_path / f"{7:020d}.log").write_bytes(b"old")
    (tmp_path / f"{7:020d}.index").write_bytes(b"12345678")
    segment = made(tmp_path, 7)
    add(segment, 7)
    segment.finish_indexes()
    assert (tmp_path / f"{7:020d}.log").read_bytes() == batch(7)
    assert (tmp_path / f"{7:020d}.index").read_bytes() == b""


@pytest.mark.parametrize(
    ("config", "last_offset", "timestamp", "now_ms", "rolls"),
    [
        (LogConfig(segment_bytes=2 * SIZE), 1, 100, 0, False),
        (LogConfig(segment_bytes=2 * SIZE - 1), 1, 100, 0, True),
        (LogConfig(), 2**31 - 1, 100, 0, False),
        (LogConfig(), 2**31, 100, 0, True),
        (LogConfig(segment_ms=HOUR_MS), 1, 100 + HOUR_MS, 10**15, False),
        (LogConfig(segment_ms=HOUR_MS), 1, 101 + HOUR_MS, 0, True),
    ],
)
def test_a_batch_that_needs_a_new_segment(
    tmp_path: Path, config: LogConfig, last_offset: int, timestamp: int, now_ms: int, rolls: bool
) -> None:
    segment = made(tmp_path)
    add(segment, 0)
    assert segment.must_roll(SIZE, last_offset, timestamp, now_ms, config, 0, INDEX_BYTES) is rolls


@pytest.mark.parametrize(("index_bytes", "rolls"), [(23, True), (24, False)])
def test_a_full_index_needs_a_new_segment(tmp_path: Path, index_bytes: int, rolls: bool) -> None:
    segment = made(tmp_path)
    add(segment, 0)
    assert segment.must_roll(SIZE, 1, 100, 0, LogConfig(), 0, index_bytes) is rolls


def test_jitter_makes_it_earlier(tmp_path: Path) -> None:
    segment = made(tmp_path)
    add(segment, 0)
    config = LogConfig(segment_ms=1000)
    assert not segment.must_roll(SIZE, 1, 100 + 900, 0, config, 100, INDEX_BYTES)
    assert segment.must_roll(SIZE, 1, 100 + 901, 0, config, 100, INDEX_BYTES)


def test_without_timestamps_the_age_is_the_segment_s(tmp_path: Path) -> None:
    segment = made(tmp_path)  # at 50
    add(segment, 0, timestamp=-1)
    config = LogConfig(segment_ms=1000)
    assert not segment.must_roll(SIZE, 1, -1, 1050, config, 0, INDEX_BYTES)
    assert segment.must_roll(SIZE, 1, -1, 1051, config, 0, INDEX_BYTES)


def test_an_empty_segment_takes_a_batch_of_any_time(tmp_path: Path) -> None:
    segment = made(tmp_path)
    assert not segment.must_roll(SIZE, 0, 10**15, 10**15, LogConfig(segment_ms=1), 0, INDEX_BYTES)


@pytest.mark.parametrize("offset", range(6))
def test_a_cut_segment_knows_its_end_and_its_largest_timestamp(tmp_path: Path, offset: int) -> None:
    times = [100, 900, 300, 300, 950, 200]
    segment = made(tmp_path)
    for i, timestamp in enumerate(times):
        add(segment, i, timestamp)
    assert segment.truncate_to(offset) == offset
    assert segment.size == (tmp_path / f"{0:020d}.log").stat().st_size == offset * SIZE
    largest = max([-1, *times[:offset]])
    expected = (largest, times.index(largest)) if offset else (-1, 0)
    assert segment.largest == expected
    assert segment.next_offset() == offset
    assert segment.find(offset) is None
    reopened = LogSegment.open(tmp_path, 0, OpenFiles())
    assert reopened.next_offset() == offset
    add(segment, offset, 1000)
    assert segment.largest == (1000, offset)


def test_a_batch_that_spans_the_cut_goes_whole(tmp_path: Path) -> None:
    segment = made(tmp_path)
    add(segment, 0)
    data = build_batch([Record(timestamp=1)] * 5, base_offset=1)
    segment.append(b"", data, len(data), 1, 5, 1, 0)
    assert segment.truncate_to(3) == 1
    assert segment.size == SIZE


def test_renamed_files_are_found_under_their_new_names(tmp_path: Path) -> None:
    segment = made(tmp_path)
    add(segment, 0)
    segment.finish_indexes()
    held = FileSlice(segment.file, 0, 5)
    segment.rename(tmp_path, ".deleted")
    assert names(tmp_path) == [
        f"{0:020d}.index.deleted",
        f"{0:020d}.log.deleted",
        f"{0:020d}.timeindex.deleted",
    ]
    assert held.read() == batch(0)[:5]
    segment.unlink()
    assert names(tmp_path) == []
    assert held.read() == batch(0)[:5]
    held.close()


def test_a_segment_without_a_file_is_renamed_by_name_only(tmp_path: Path) -> None:
    segment = made(tmp_path)
    segment.rename(tmp_path, ".deleted")
    segment.unlink()
    assert names(tmp_path) == []


def test_its_time_is_that_of_its_records_or_of_its_file(tmp_path: Path) -> None:
    segment = made(tmp_path)
    assert (segment.modified_ms(), segment.largest_or_modified_ms()) == (50, 50)
    add(segment, 0, timestamp=-1)
    segment.set_modified_ms(777)
    assert (segment.modified_ms(), segment.largest_or_modified_ms()) == (777, 777)
    add(segment, 1, timestamp=123)
    assert segment.largest_or_modified_ms() == 123


def test_a_reset_segment_is_indexed_anew(tmp_path: Path) -> None:
    segment = made(tmp_path)
    for i in range(4):
        add(segment, i, 100 + i)
    segment.reset()
    assert (segment.offset_index.count, segment.largest) == (0, (-1, 0))
    for position, each in segment.batches():
        segment.note_batch(
            position, SIZE, each.base_offset, each.last_offset, each.max_timestamp, 0
        )
    assert (segment.offset_index.count, segment.largest) == (3, (103, 3))
    segment.cut(2 * SIZE)
    assert (tmp_path / f"{0:020d}.log").stat().st_size == segment.size == 2 * SIZE
