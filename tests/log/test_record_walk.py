"""The quick walk takes what producers write, and nothing that the careful reader refuses."""

import struct
from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.log.record_reader import read_records
from kafkalite.log.record_walk import LEAST, MOST, REFUSED, walk
from kafkalite.wire.record_batch import HEADER_BYTES, Record, RecordBatch, build_batch
from kafkalite.wire.record_format import MOST_HEADERS
from tests.log.very_many import MANY, longest_wait, record_with_headers, tiny_records

NOW_MS = 1_700_000_000_000

RECORDS = st.lists(
    st.builds(
        Record,
        timestamp=st.integers(NOW_MS - 10**7, NOW_MS + 10**7),
        key=st.none() | st.binary(max_size=200),
        value=st.none() | st.binary(max_size=20_000),
        headers=st.lists(
            st.tuples(st.text(max_size=70), st.none() | st.binary(max_size=70)), max_size=3
        ),
    ),
    min_size=1,
    max_size=5,
)


def largest_delta(data: bytes, count: int, **limits: Any) -> int:
    limits = {"lowest": LEAST, "highest": MOST, "needs_keys": False, **limits}
    return walk(data, 0, len(data), count, limits.pop("lowest"), limits.pop("highest"), **limits)


@given(RECORDS)
def test_what_producers_write_is_taken(records: list[Record]) -> None:
    data = build_batch(records)[HEADER_BYTES:]
    deltas = [record.timestamp - records[0].timestamp for record in records]
    assert largest_delta(data, len(records)) == max(deltas)
    assert largest_delta(data, len(records), highest=max(deltas)) == max(deltas)
    assert largest_delta(data, len(records), highest=max(deltas) - 1) == REFUSED
    assert largest_delta(data, len(records), lowest=min(deltas)) == max(deltas)
    assert largest_delta(data, len(records), lowest=min(deltas) + 1) == REFUSED
    has_keys = all(record.key is not None for record in records)
    assert (largest_delta(data, len(records), needs_keys=True) != REFUSED) is has_keys


def test_offsets_of_two_and_three_bytes_are_taken() -> None:
    data = build_batch([Record(timestamp=NOW_MS)] * 20_000)[HEADER_BYTES:]
    assert largest_delta(data, 20_000) == 0
    for count in (19_999, 20_001):
        assert largest_delta(data, count) == REFUSED


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_buffer_may_be_longer_than_the_records(kind: type[Any]) -> None:
    records = build_batch([Record(timestamp=NOW_MS, value=bytes(100))] * 10_000)[HEADER_BYTES:]
    end = len(records)
    buffer = kind(records + bytes(50))
    assert walk(buffer, 0, end, 10_000, LEAST, MOST, False) == 0
    for odd in (end - 1, end + 1):
        assert walk(buffer, 0, odd, 10_000, LEAST, MOST, False) == REFUSED
    assert walk(kind(records[:-1]), 0, end, 10_000, LEAST, MOST, False) == REFUSED


def test_a_timestamp_of_more_than_64_bits_is_odd() -> None:
    def record(delta: bytes) -> bytes:
        body = b"\0" + delta + b"\0\1\1\0"
        return bytes([2 * len(body)]) + body

    assert largest_delta(record(b"\xff" * 9 + b"\1"), 1, lowest=LEAST + 1) == REFUSED
    assert largest_delta(record(b"\xfe" + b"\xff" * 8 + b"\1"), 1) == MOST
    assert largest_delta(record(b"\xfe" + b"\xff" * 8 + b"\3"), 1) == REFUSED
    assert largest_delta(record(b"\x80" * 9 + b"\2"), 1) == REFUSED


def test_other_threads_run_while_very_many_records_are_walked_over() -> None:
    data = tiny_records(MANY)
    assert largest_delta(data, MANY) == 0
    assert longest_wait(lambda: largest_delta(data, MANY)) < 0.5


def test_other_threads_run_while_very_many_headers_are_walked_over() -> None:
    data = record_with_headers(MANY)
    assert largest_delta(data, 1) == 0
    assert longest_wait(lambda: largest_delta(data, 1)) < 0.5


def test_a_record_may_have_so_many_headers() -> None:
    assert largest_delta(record_with_headers(MOST_HEADERS), 1) == 0
    assert largest_delta(record_with_headers(MOST_HEADERS + 1), 1) == REFUSED


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(
    RECORDS,
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 255)), min_size=1, max_size=3),
    st.integers(-3, 3),
)
def test_the_walk_takes_nothing_that_the_reader_refuses(
    records: list[Record], changes: list[tuple[int, int]], longer: int
) -> None:
    batch = bytearray(build_batch(records))
    for position, byte in changes:
        if HEADER_BYTES + position < len(batch):
            batch[HEADER_BYTES + position] = byte
    if longer < 0:
        del batch[longer:]
    else:
        batch += bytes(longer)
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">I", batch, 17, crc32c(batch[21:]))
    largest = largest_delta(bytes(batch[HEADER_BYTES:]), len(records))
    if largest != REFUSED:
        read = list(read_records(RecordBatch(batch), skips_contents=False))
        assert [record.offset_delta for record in read] == list(range(len(records)))
        assert max(record.timestamp_delta for record in read) == largest
