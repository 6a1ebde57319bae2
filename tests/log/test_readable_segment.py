"""A segment's batches are found: by memory, by its indexes, by going through the file."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkalite.log import page_cache
from kafkalite.log.open_files import FileSlice, OpenFiles
from kafkalite.log.page_cache import NotBrief, cached_only
from kafkalite.log.readable_segment import FoundRecord
from kafkalite.log.segment import LogSegment
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import HEADER_BYTES, Record, build_batch, pack_batch
from kafkalite.wire.record_format import write_record

BASE = 1000
# Base offset and number of records of each batch; there are holes.
BATCHES = [(1000, 2), (1002, 1), (1010, 3), (1013, 1), (1020, 2), (1022, 1)]
TIMES = [100, 500, 300, 900, 900, -1]

Opened = Callable[[Path, LogSegment], LogSegment]


def batch(offset: int, count: int, timestamp: int) -> bytes:
    records = [
        Record(timestamp=timestamp if timestamp < 0 else timestamp + i, value=b"v" * 20)
        for i in range(count)
    ]
    return build_batch(records, base_offset=offset)


def filled(path: Path, index_interval_bytes: int = 100) -> LogSegment:
    segment = LogSegment.create(path, BASE, OpenFiles(), now_ms=0)
    for (offset, count), timestamp in zip(BATCHES, TIMES, strict=True):
        data = batch(offset, count, timestamp)
        largest = timestamp if timestamp < 0 else timestamp + count - 1
        segment.append(
            b"", data, len(data), offset, offset + count - 1, largest, index_interval_bytes
        )
    return segment


def as_it_is(path: Path, segment: LogSegment) -> LogSegment:
    return segment


def inactive(path: Path, segment: LogSegment) -> LogSegment:
    segment.become_inactive()
    return segment


def reopened(path: Path, segment: LogSegment) -> LogSegment:
    segment.become_inactive()
    segment.close()
    return LogSegment.open(path, BASE, OpenFiles())


@pytest.fixture(params=[as_it_is, inactive, reopened])
def segment(request: pytest.FixtureRequest, tmp_path: Path) -> LogSegment:
    return request.param(tmp_path, filled(tmp_path))


def positions() -> list[int]:
    sizes = [len(batch(*each, time)) for each, time in zip(BATCHES, TIMES, strict=True)]
    return [sum(sizes[:i]) for i in range(len(sizes) + 1)]


def holder(offset: int) -> int:
    """The batch that ends at or behind an offset, by the list."""
    return next((i for i, (base, n) in enumerate(BATCHES) if base + n > offset), len(BATCHES))


@pytest.mark.slow
@pytest.mark.parametrize("offset", range(998, 1025))
def test_the_batch_that_ends_at_or_behind_an_offset(segment: LogSegment, offset: int) -> None:
    i = holder(offset)
    found = segment.find(offset)
    assert segment.position_of(offset) == positions()[i]
    if i == len(BATCHES):
        assert found is None
    else:
        assert found is not None
        assert (found[0], found[1].base_offset) == (positions()[i], BATCHES[i][0])


def bytes_of(records: FileSlice | None) -> int:
    if records is None:
        return 0
    with records:
        return len(records.read())


@pytest.mark.parametrize("offset", [1000, 1001, 1005, 1021, 1022])
@pytest.mark.parametrize("minimum_one_batch", [True, False])
def test_a_read_is_cut_at_its_limit(
    segment: LogSegment, offset: int, minimum_one_batch: bool
) -> None:
    i = holder(offset)
    start, behind = positions()[i], positions()[i + 1]
    first = behind - start
    for max_bytes in (1, first - 1, first, first + 30, 10_000):
        found = segment.read(
            offset, max_bytes, end=segment.size, minimum_one_batch=minimum_one_batch
        )
        assert found is not None
        size = min(max_bytes, segment.size - start)
        if max_bytes < first:
            size = first if minimum_one_batch else 0
        assert (found[0], bytes_of(found[1])) == (start, size)


def test_a_read_ends_at_its_end(segment: LogSegment) -> None:
    at = positions()
    for i in range(len(BATCHES)):
        found = segment.read(1000, 10_000, end=at[i], minimum_one_batch=True)
        assert found is not None
        assert (found[0], bytes_of(found[1])) == (0, at[i])
    found = segment.read(1020, 10_000, end=at[2], minimum_one_batch=True)
    assert found is not None
    assert found[1] is None  # the end comes before the batch
    assert segment.read(1023, 10_000, end=segment.size, minimum_one_batch=True) is None


@pytest.mark.parametrize(
    ("timestamp", "from_offset", "found"),
    [
        (-5, 1000, (100, 1000)),
        (0, 1000, (100, 1000)),
        (101, 1000, (101, 1001)),
        (102, 1000, (500, 1002)),
        (501, 1000, (900, 1013)),
        (300, 1003, (300, 1010)),
        (300, 1011, (301, 1011)),  # in the middle of a batch
        (302, 1011, (302, 1012)),
        (900, 1014, (900, 1020)),
        (901, 1000, (901, 1021)),
        (902, 1000, None),
        (500, 1022, None),
    ],
)
def test_the_first_record_that_is_not_earlier(
    segment: LogSegment, timestamp: int, from_offset: int, found: tuple[int, int] | None
) -> None:
    assert segment.find_timestamp(timestamp, from_offset) == (found and (*found, -1))


def test_a_record_before_what_is_odd_is_found(tmp_path: Path) -> None:
    """Apache Kafka reads a batch no further than to the record."""
    segment = LogSegment.create(tmp_path, 0, OpenFiles(), now_ms=0)
    records = [Record(timestamp=1000 + each, value=b"v") for each in range(3)]
    whole = build_batch(records, compression=Compression.LZ4)
    data = bytearray(whole + whole[HEADER_BYTES:][:10])
    struct.pack_into(">i", data, 8, len(data) - 12)
    segment.append(b"", bytes(data), len(data), 0, 2, 1002, 100)
    assert segment.find_timestamp(1001, 0) == FoundRecord(1001, 1, -1)


def test_only_the_first_batch_with_the_largest_timestamp_counts(tmp_path: Path) -> None:
    """A client may say so of a batch that has no such record."""
    segment = LogSegment.create(tmp_path, 0, OpenFiles(), now_ms=0)
    for offset, delta in enumerate((0, 500)):
        records = bytearray()
        write_record(records, delta, 0, None, b"v", [])
        data = pack_batch(
            bytes(records),
            base_offset=offset,
            last_offset_delta=0,
            record_count=1,
            base_timestamp=1000,
            max_timestamp=1500,
        )
        segment.append(b"", data, len(data), offset, offset, 1500, 100)
    assert segment.find_timestamp(1500, 0) == FoundRecord(1500, 1, -1)
    assert segment.find_largest() is None


def test_a_time_beyond_the_end_of_time_is_long_ago(tmp_path: Path) -> None:
    """A client's numbers wrap, and so do the broker's."""
    end = 2**63 - 1
    segment = LogSegment.create(tmp_path, 0, OpenFiles(), now_ms=0)
    records = bytearray()
    for offset, delta in enumerate((7, 0)):
        write_record(records, delta, offset, None, b"v", [])
    data = pack_batch(
        bytes(records),
        base_offset=0,
        last_offset_delta=1,
        record_count=2,
        base_timestamp=end,
        max_timestamp=end,
    )
    segment.append(b"", data, len(data), 0, 1, end, 100)
    assert segment.find_timestamp(1, 0) == FoundRecord(end, 1, -1)


def test_the_largest_timestamp_and_the_first(segment: LogSegment) -> None:
    assert segment.largest == (901, 1021)
    assert segment.first_timestamp == 101  # the first batch's largest
    assert segment.next_offset() == 1023


@pytest.mark.parametrize(
    ("count", "compression", "is_long"),
    [
        (1000, Compression.NONE, False),
        (1001, Compression.NONE, True),
        (2, Compression.ZSTD, False),
        (900, Compression.ZSTD, True),
    ],
)
def test_a_search_that_takes_long_is_for_a_thread(
    tmp_path: Path, count: int, compression: Compression, is_long: bool
) -> None:
    segment = LogSegment.create(tmp_path, 0, OpenFiles(), now_ms=0)
    records = [Record(timestamp=1000 + each, value=b"%d" % each) for each in range(count)]
    data = build_batch(records, compression=compression)
    segment.append(b"", data, len(data), 0, count - 1, 999 + count, 100)
    wanted = FoundRecord(1001, 1, -1)
    assert segment.find_timestamp(1001, 0) == wanted
    with cached_only:
        if is_long:
            with pytest.raises(NotBrief) as caught:
                segment.find_timestamp(1001, 0)
            caught.value.read()
        for _ in range(2):
            assert segment.find_timestamp(1001, 0) == wanted


def test_a_thread_reads_a_batch_of_many_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    segment = LogSegment.create(tmp_path, 0, OpenFiles(), now_ms=0)
    records = [Record(timestamp=1000 + i, value=bytes(600_000)) for i in range(2)]
    data = build_batch(records)
    segment.append(b"", data, len(data), 0, 1, 1001, 100)
    sizes: list[int] = []
    pread = page_cache.pread

    def noted(descriptor: int, size: int, position: int) -> bytes:
        sizes.append(size)
        return pread(descriptor, size, position)

    monkeypatch.setattr(page_cache, "pread", noted)
    with cached_only:
        with pytest.raises(NotBrief) as caught:
            segment.find_timestamp(1001, 0)
        assert max(sizes) < 100_000
        caught.value.read()
        assert segment.find_timestamp(1001, 0) == FoundRecord(1001, 1, -1)


def test_a_search_that_fails_in_a_thread_fails_where_it_was_asked_for(tmp_path: Path) -> None:
    segment = LogSegment.create(tmp_path, 0, OpenFiles(), now_ms=0)
    records = [Record(timestamp=1000, value=bytes([each])) for each in range(200)]
    data = bytearray(build_batch(records, compression=Compression.GZIP)) + bytes(1024)
    struct.pack_into(">i", data, 8, len(data) - 12)
    data[70:] = bytes(len(data) - 70)
    segment.append(b"", bytes(data), len(data), 0, 199, 1000, 100)
    with cached_only:
        with pytest.raises(NotBrief) as caught:
            segment.find_timestamp(1000, 0)
        caught.value.read()
        with pytest.raises(KafkaError):
            segment.find_timestamp(1000, 0)


def test_only_the_last_results_are_kept(tmp_path: Path) -> None:
    segment = LogSegment.create(tmp_path, 0, OpenFiles(), now_ms=0)
    records = [Record(timestamp=1000 + each) for each in range(1001)]
    data = build_batch(records)
    segment.append(b"", data, len(data), 0, 1000, 2000, 100)
    for timestamp in range(1000, 1100):
        with cached_only, pytest.raises(NotBrief) as caught:
            segment.find_timestamp(timestamp, 0)
        caught.value.read()
    assert len(segment._searched or ()) == 16


def test_batches_between_two_positions(segment: LogSegment) -> None:
    at = positions()
    found = [each.base_offset for _, each in segment.batches(at[1], at[4])]
    assert found == [1002, 1010, 1013]
    assert [position for position, _ in segment.batches(headers_only=True)] == at[:-1]
    assert len(list(segment.batches(0, 10**9))) == len(BATCHES)


def test_a_batch_that_was_cut_short_is_made_whole(tmp_path: Path) -> None:
    segment = LogSegment.create(tmp_path, 0, OpenFiles(), now_ms=0)
    data = build_batch([Record(value=bytes(100_000))])
    segment.append(b"", data, len(data), 0, 0, -1, 100)
    [(position, header)] = segment.batches(headers_only=True)
    assert len(header.buffer) < len(data)
    whole = segment.whole(position, header)
    assert bytes(whole.buffer) == data
    assert segment.whole(position, whole) is whole


def test_an_empty_segment_holds_nothing(tmp_path: Path) -> None:
    segment = LogSegment.create(tmp_path, BASE, OpenFiles(), now_ms=0)
    assert segment.find(BASE) is None
    assert segment.find_timestamp(0, BASE) is None
    assert (segment.position_of(BASE), segment.next_offset()) == (0, BASE)
    assert (segment.largest, segment.first_timestamp) == ((-1, BASE), -1)
