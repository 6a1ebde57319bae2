"""Rows out of segment files are the records that the wire's own decoder finds."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalite.spark.data_directory import (
    bounds,
)
from kafkalite.spark.errors import DamagedLog
from kafkalite.spark.schema import RECORD_SCHEMA
from kafkalite.spark.segment_reader import offset_for_timestamp, read_partition
from kafkalite.wire.compression import Compression
from kafkalite.wire.record_batch import (
    Record,
    TimestampType,
)
from tests.kafkalite.spark.conftest import TOPIC, DataDirectory, batch_of
from tests.kafkalite.spark.read_rows import Make, expected, rows

blobs = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=9)), max_size=3)


@st.composite
def logs(draw: st.DrawFn) -> list[bytes]:
    """Batches with holes, every codec, both clocks, large and small."""
    batches, offset = [], draw(st.integers(0, 5))
    for _ in range(draw(st.integers(1, 6))):
        offset += draw(st.sampled_from((0, 0, 3)))
        count = draw(st.sampled_from((1, 2, 7, 300, 700)))
        made = draw(st.lists(st.tuples(blobs, blobs, headers), min_size=1, max_size=8))
        gap = draw(st.sampled_from((1, 1, 2)))
        records = []
        for i in range(count):
            key, value, some = made[i % len(made)]
            time = 1_700_000_000_000 + draw(st.integers(-9, 9)) if i < 3 else i
            records.append(Record(offset + i * gap, time, key, value, some))
        stamped = draw(st.booleans())
        batches.append(
            batch_of(
                records,
                compression=draw(st.sampled_from(list(Compression))),
                timestamp_type=TimestampType(int(stamped)),
                log_append_time_ms=1_800_000_000_000,
            )
        )
        offset = records[-1].offset + 1
    return batches


@given(batches=logs(), cut=st.tuples(st.integers(0, 900), st.integers(0, 900)))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_rows_are_the_wires_records(
    batches: list[bytes], cut: tuple[int, int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = DataDirectory(tmp_path_factory.mktemp("log"))
    directory.append(*batches)
    path = directory.stop()
    everything = expected(batches)
    assert rows(path) == everything
    found = bounds(path, TOPIC, 0)
    start = min(found.start_offset + cut[0], found.end_offset)
    end = min(start + cut[1], found.end_offset)
    assert rows(path, start, end) == [row for row in everything if start <= row[0] < end]


def test_without_headers_there_is_no_such_column(data_directory: Make) -> None:
    directory = data_directory()
    directory.records(b"a", b"b")
    [batch] = read_partition(directory.stop(), TOPIC, 0, 0, 2)
    assert batch.schema == RECORD_SCHEMA


def test_a_time_that_spark_cannot_hold_is_told_where_it_is_met(data_directory: Make) -> None:
    directory = data_directory()
    directory.append(batch_of([Record(0, 5, None, b"a")]), batch_of([Record(1, 1 << 62, None)]))
    path = directory.stop()
    assert offset_for_timestamp(path, TOPIC, 0, 5) == 0
    with pytest.raises(DamagedLog, match="does not fit Spark's microseconds"):
        offset_for_timestamp(path, TOPIC, 0, 6)
