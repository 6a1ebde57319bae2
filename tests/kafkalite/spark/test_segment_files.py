"""Segment files are read while a broker deletes, swaps and grows them; damage is told."""

from __future__ import annotations

import pytest

from kafkalite.log.files import LOG_SUFFIX, SWAP_SUFFIX, segment_file
from kafkalite.spark import segment_files
from kafkalite.spark.errors import (
    DamagedLog,
    OffsetOutOfRange,
)
from tests.kafkalite.spark.conftest import TOPIC
from tests.kafkalite.spark.read_rows import Make, values


def test_a_range_over_many_segments_reads_only_those_it_needs(
    data_directory: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = data_directory(segment_bytes=2000, index_interval_bytes=200)
    for i in range(200):
        directory.records(*(b"%d-%d" % (i, j) for j in range(10)))
    path = directory.stop()
    assert len(segment_files.list_segments(path / f"{TOPIC}-0")) > 5
    opened = []
    read = segment_files._read
    monkeypatch.setattr(segment_files, "_read", lambda *a: opened.append(a[1:]) or read(*a))
    assert values(path, 995, 1005) == [b"%d-%d" % (i // 10, i % 10) for i in range(995, 1005)]
    assert sum(size for _, size, _ in opened) < 2500


def test_segments_that_the_cleaner_is_replacing(data_directory: Make) -> None:
    directory = data_directory(segment_bytes=300)
    for i in range(20):
        directory.records(b"%d" % i * 9)
    path = directory.stop()
    log = path / f"{TOPIC}-0"
    first, second, third, *_ = segment_files.list_segments(log)
    merged = b"".join(each.path.read_bytes() for each in (first, second))
    everything = values(path)
    segment_file(log, first.base_offset, LOG_SUFFIX, SWAP_SUFFIX).write_bytes(merged)
    assert values(path) == everything  # all are there
    first.path.unlink()
    second.path.unlink()
    assert values(path) == everything  # the old ones are gone
    assert values(path, third.base_offset - 1) == everything[third.base_offset - 1 :]


def test_a_reader_outlives_deletion_and_says_what_is_gone(data_directory: Make) -> None:
    directory = data_directory(segment_bytes=300)
    for i in range(20):
        directory.records(b"%d" % i * 9)
    path = directory.stop()
    first, *_ = segment_files.list_segments(path / f"{TOPIC}-0")
    first.path.unlink()
    with pytest.raises(OffsetOutOfRange, match="the log begins behind offset 0"):
        values(path, 0)
    assert values(path)  # from where it begins now


@pytest.mark.parametrize(
    ("position", "change", "says"),
    [
        (70, b"\xff", "checksum of the batch at position 0 .offset 0. does not match"),
        (16, b"\x01", "no whole batch at position 0 .magic 1, not 2."),
        (8, b"\0\0\0\0", "no whole batch at position 0 .a batch length of 0."),
        (8, b"\x7f", "no whole batch at position 0 .cut short."),
    ],
)
def test_damage_below_the_end_is_told(
    data_directory: Make, position: int, change: bytes, says: str
) -> None:
    directory = data_directory()
    directory.records(b"damaged")
    directory.records(b"fine")
    path = directory.stop()
    [segment] = segment_files.list_segments(path / f"{TOPIC}-0")
    data = bytearray(segment.path.read_bytes())
    data[position : position + len(change)] = change
    segment.path.write_bytes(data)
    with pytest.raises(DamagedLog, match=says):
        values(path, 0, 2)


def test_segments_are_listed_by_their_first_offset(data_directory: Make) -> None:
    directory = data_directory(segment_bytes=300)
    for i in range(10):
        directory.records(b"%d" % i * 9)
    log = directory.stop() / f"{TOPIC}-0"
    found = segment_files.list_segments(log)
    assert [each.base_offset for each in found] == sorted(each.base_offset for each in found)
    assert found[0].base_offset == 0
    assert {each.path for each in found} == set(log.glob("*.log"))


def test_an_index_that_is_preallocated_ends_where_its_entries_do(data_directory: Make) -> None:
    """Apache Kafka keeps the active segment's index as large as it may become."""
    directory = data_directory(index_interval_bytes=100)
    for i in range(10):
        directory.records(b"%d" % i * 90)
    log = directory.stop() / f"{TOPIC}-0"
    [segment] = segment_files.list_segments(log)
    offsets, positions = segment_files.offset_index(segment)
    assert len(offsets) > 3
    index = segment.path.with_suffix(".index")
    index.write_bytes(index.read_bytes() + bytes(800))
    again = segment_files.offset_index(segment)
    assert [each.tolist() for each in again] == [offsets.tolist(), positions.tolist()]
    index.unlink()
    assert [len(each) for each in segment_files.offset_index(segment)] == [0, 0]


def test_the_end_of_a_log_is_behind_its_last_whole_batch(data_directory: Make) -> None:
    directory = data_directory(segment_bytes=300)
    for i in range(10):
        directory.records(b"%d" % i * 9)
    log = directory.stop() / f"{TOPIC}-0"
    assert segment_files.end_of_log(log, trusted_until=None) == 10
    assert segment_files.end_of_log(log, trusted_until=0) == 10
    *_, last = segment_files.list_segments(log)
    data = bytearray(last.path.read_bytes())
    data[70] ^= 1
    last.path.write_bytes(data)
    assert segment_files.end_of_log(log, trusted_until=0) == last.base_offset
    assert segment_files.end_of_log(log, trusted_until=None) == 10  # no checksum is looked at
    for each in segment_files.list_segments(log):
        each.path.unlink()
    assert segment_files.end_of_log(log, trusted_until=0) == 0
