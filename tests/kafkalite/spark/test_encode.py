"""Batches made of columns are what the wire's own encoder makes, record by record."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.spark.encode import Producer, encode_batches
from kafkalite.spark.schema import HEADERS_TYPE
from kafkalite.wire.compression import Compression
from kafkalite.wire.record_batch import (
    Record,
    RecordBatch,
    TimestampType,
    build_batch,
    iterate_batches,
    iterate_records,
)

blobs = st.none() | st.binary(max_size=300)
headers = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=9)), max_size=3)
rows = st.lists(st.tuples(blobs, blobs, st.integers(-1, 2**45), headers), min_size=1, max_size=60)


def columns(records: list[Record]) -> tuple[pa.Array, pa.Array, np.ndarray, pa.Array]:
    listed = [[{"key": k, "value": v} for k, v in record.headers] or None for record in records]
    return (
        pa.array([record.key for record in records], pa.binary()),
        pa.array([record.value for record in records], pa.binary()),
        np.array([record.timestamp for record in records], np.int64),
        pa.array(listed, HEADERS_TYPE),
    )


@given(rows=rows, most=st.sampled_from((1, 200, 2000, 1 << 20)))
@settings(max_examples=150, deadline=None)
def test_batches_are_the_wires(
    rows: list[tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]]]], most: int
) -> None:
    records = [
        Record(100 + i, time, key, value, tuple(some))
        for i, (key, value, time, some) in enumerate(rows)
    ]
    keys, values, times, some_headers = columns(records)
    made = list(
        encode_batches(
            keys,
            values,
            times,
            headers=some_headers,
            base_offset=100,
            max_batch_bytes=most,
            producer=Producer(7, 2, is_transactional=True),
            base_sequence=2**31 - 5,
        )
    )
    start = 0
    for batch in made:
        part = records[start : start + batch.record_count]
        expected = build_batch(
            part,
            base_offset=part[0].offset,
            producer_id=7,
            producer_epoch=2,
            base_sequence=(2**31 - 5 + start) % 2**31,
            is_transactional=True,
        )
        assert batch.data == expected
        assert (batch.base_offset, batch.last_offset) == (part[0].offset, part[-1].offset)
        start += batch.record_count
    assert start == len(records)


@pytest.mark.parametrize("codec", list(Compression))
def test_every_codec_and_offsets_with_holes(codec: Compression) -> None:
    offsets = np.array([5, 6, 9, 3_000_000_000, 3_000_000_001], np.int64)
    values = pa.array([b"v" * i for i in range(5)])
    keys = pa.nulls(5, pa.binary())
    times = np.arange(5, dtype=np.int64)
    made = list(encode_batches(keys, values, times, offsets=offsets, compression=codec))
    read = [
        record
        for batch in made
        for found in iterate_batches(batch.data)
        for record in iterate_records(found)
    ]
    expected = [Record(offset, i, None, b"v" * i) for i, offset in enumerate(offsets.tolist())]
    assert read == expected
    assert len(made) == 2  # a delta has 32 bits


def test_text_columns_and_chunks_are_taken_as_bytes() -> None:
    values = pa.chunked_array([["a", "ä"], ["b"]])
    [made] = encode_batches(pa.nulls(3, pa.string()), values, np.zeros(3, np.int64))
    [batch] = iterate_batches(made.data)
    assert [record.value for record in iterate_records(batch)] == [b"a", "ä".encode(), b"b"]


def test_records_the_broker_stamped_share_a_batch_with_their_like() -> None:
    stamps = [5, 5, 5, 9, 9, 2]
    made = encode_batches(
        pa.nulls(6, pa.binary()),
        pa.array([b"v"] * 6),
        np.array(stamps, np.int64),
        timestamp_type=TimestampType.LOG_APPEND_TIME,
    )
    batches = [RecordBatch(each.data) for each in made]
    assert [batch.max_timestamp for batch in batches] == [5, 9, 2]
    assert {batch.timestamp_type for batch in batches} == {TimestampType.LOG_APPEND_TIME}
    assert [record.timestamp for batch in batches for record in iterate_records(batch)] == stamps


def test_a_break_begins_a_batch() -> None:
    values = pa.array([b"v" * 100] * 6)
    made = encode_batches(
        pa.nulls(6, pa.binary()), values, np.zeros(6, np.int64), max_batch_bytes=300, breaks=[0, 3]
    )
    assert [(batch.base_offset, batch.record_count) for batch in made] == [
        *((0, 2), (2, 1)),
        *((3, 2), (5, 1)),
    ]


def test_batches_reach_up_to_the_next() -> None:
    made = encode_batches(
        pa.nulls(4, pa.binary()),
        pa.array([b"v" * 100] * 4),
        np.zeros(4, np.int64),
        offsets=np.array([3, 7, 20, 30], np.int64),
        max_batch_bytes=300,
        end_offset=50,
    )
    batches = [RecordBatch(each.data) for each in made]
    assert [(batch.base_offset, batch.next_offset) for batch in batches] == [(3, 20), (20, 50)]
    offsets = [record.offset for batch in batches for record in iterate_records(batch)]
    assert offsets == [3, 7, 20, 30]
