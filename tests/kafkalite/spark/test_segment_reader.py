"""Rows out of segment files are the records that the wire's own decoder finds."""

import struct
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkalite.log.directory import LogDirectory
from kafkalite.log.files import LOG_SUFFIX, SWAP_SUFFIX, segment_file
from kafkalite.spark import segment_files
from kafkalite.spark.data_directory import (
    Bounds,
    Isolation,
    bounds,
    is_held,
    list_partitions,
)
from kafkalite.spark.errors import (
    DamagedLog,
    NotADataDirectory,
    OffsetOutOfRange,
    UnknownTopic,
)
from kafkalite.spark.schema import RECORD_SCHEMA, RECORD_SCHEMA_WITH_HEADERS
from kafkalite.spark.segment_reader import read_partition
from kafkalite.wire.compression import Compression
from kafkalite.wire.record_batch import (
    Record,
    TimestampType,
    build_batch,
    iterate_batches,
    iterate_records,
)
from tests.kafkalite.spark.conftest import TOPIC, DataDirectory, batch_of

Make = Callable[..., DataDirectory]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
COMMITTED = Isolation.READ_COMMITTED


def rows(path: Path, start: int | None = None, end: int | None = None, **options: Any) -> list[Any]:
    """(offset, timestamp, key, value, headers, timestamp type) of each row of topic-0."""
    found = bounds(path, TOPIC, 0, options.get("isolation", Isolation.READ_UNCOMMITTED))
    read = []
    for batch in read_partition(
        *(path, TOPIC, 0),
        found.start_offset if start is None else start,
        found.end_offset if end is None else end,
        include_headers=True,
        **options,
    ):
        assert batch.schema == RECORD_SCHEMA_WITH_HEADERS
        batch.validate(full=True)
        for row in batch.to_pylist():
            assert (row["topic"], row["partition"]) == (TOPIC, 0)
            read.append(
                (
                    *(row["offset"], row["timestamp"], row["key"], row["value"]),
                    *(row["headers"], row["timestampType"]),
                )
            )
    return read


def values(path: Path, *range_: int, **options: Any) -> list[bytes]:
    return [row[3] for row in rows(path, *range_, **options)]


def expected(batches: list[bytes]) -> list[Any]:
    """The same rows by kafkalite.wire."""
    found = []
    for data in batches:
        for batch in iterate_batches(data):
            for record in iterate_records(batch):
                headers = [{"key": key, "value": value} for key, value in record.headers]
                time = EPOCH + timedelta(milliseconds=record.timestamp)
                at = (record.offset, time, record.key, record.value)
                found.append((*at, headers or None, int(batch.timestamp_type)))
    return found


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


def test_markers_and_aborted_records_are_left_out_if_asked(data_directory: Make) -> None:
    directory = data_directory(segment_bytes=400)
    directory.transaction(1, b"yes-1", b"yes-2", commit=True)
    directory.transaction(1, b"no-1", commit=False)
    directory.transaction(2, b"later", commit=None)
    directory.transaction(1, b"yes-3", commit=True)
    directory.mark(2, commit=False)
    directory.transaction(3, b"open", commit=None)
    directory.records(b"behind it")
    everything = [b"yes-1", b"yes-2", b"no-1", b"later", b"yes-3", b"open", b"behind it"]
    committed = [b"yes-1", b"yes-2", b"yes-3"]
    for path in (directory.kill(), directory.stop()):
        assert values(path) == everything
        assert bounds(path, TOPIC, 0, COMMITTED) == Bounds(0, 9)
        assert values(path, isolation=COMMITTED) == committed


@pytest.mark.parametrize("keep_indexes", [True, False])
def test_aborts_behind_the_recovery_point_are_found_without_an_index(
    data_directory: Make, keep_indexes: bool
) -> None:
    directory = data_directory(segment_bytes=300)
    for i in range(20):
        directory.transaction(i % 3, b"%d" % i, commit=bool(i % 2))
    path = directory.kill(recovery_point=20)
    if not keep_indexes:
        for index in (path / f"{TOPIC}-0").glob("*.txnindex"):
            if int(index.stem) >= 20:
                index.unlink()
    assert values(path, isolation=COMMITTED) == [b"%d" % i for i in range(20) if i % 2]


def test_a_killed_brokers_log_ends_with_its_last_whole_batch(data_directory: Make) -> None:
    directory = data_directory()
    directory.records(b"whole")
    directory.records(b"cut short")
    path = directory.kill()
    [segment] = segment_files.list_segments(path / f"{TOPIC}-0")
    data = segment.path.read_bytes()
    for torn in (data[:-1], data[: len(data) - 30], data[:-1] + b"x", data[:75] + b"\0" * 400):
        segment.path.write_bytes(torn)
        assert bounds(path, TOPIC, 0) == Bounds(0, 1)
        assert values(path) == [b"whole"]


def test_a_held_directory_is_read_up_to_its_high_watermark(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path / "data")
    directory.records(b"seen")
    directory.records(b"not yet replicated")
    directory.checkpoint(1)
    held = LogDirectory.open(directory.path, cluster_id=None, node_id=1, now_ms=lambda: 0)
    try:
        assert is_held(directory.path)
        assert values(directory.path) == [b"seen"]
    finally:
        held.close()
        directory.log.close_files()
    assert not is_held(directory.path)


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


def test_records_that_do_not_add_up_are_told(data_directory: Make) -> None:
    """With a right checksum: whoever wrote it was wrong."""
    good = build_batch([Record(value=b"x" * 20)] * 3)
    for change in range(61, len(good), 3):
        for byte in (0x00, 0x7F, 0x81, 0xFF):
            directory = data_directory()
            bad = bytearray(good)
            bad[change] = byte
            wrong = (
                bytes(bad[:17])
                + struct.pack(">I", __import__("crc32c").crc32c(bad[21:]))
                + bad[21:]
            )
            directory.append(wrong)
            path = directory.stop()
            with suppress(
                DamagedLog
            ):  # some changes are as good a record, perhaps of another offset
                assert len(values(path, 0, 3)) <= 3


def test_what_is_no_data_directory_is_told_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NotADataDirectory, match="is no directory"):
        list_partitions(tmp_path / "nothing")
    with pytest.raises(NotADataDirectory, match="is no data directory"):
        list_partitions(tmp_path)
    path = DataDirectory(tmp_path / "data").stop()
    # A broker writes this when it makes a log, before there is a segment.
    metadata = "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"
    (path / f"{TOPIC}-0" / "partition.metadata").write_text(metadata)
    assert [(each.topic, each.partition) for each in list_partitions(path)] == [(TOPIC, 0)]
    with pytest.raises(UnknownTopic, match="has no partition 3 of topic 'topic'"):
        bounds(path, TOPIC, 3)
    assert values(path) == []
