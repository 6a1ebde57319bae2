"""Rows out of plain batches: offsets, times, keys, values and headers."""

from __future__ import annotations

import struct
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest

from kafkalite.spark.batch_headers import walk
from kafkalite.spark.decode import TimestampTooFar, decode
from kafkalite.spark.decompress import unfold
from kafkalite.spark.errors import (
    DamagedLog,
)
from kafkalite.wire.record_batch import (
    Record,
    TimestampType,
    build_batch,
)
from tests.kafkalite.spark.conftest import TOPIC, batch_of
from tests.kafkalite.spark.read_rows import Make, values


def rows_of(*batches: bytes, include_headers: bool = True) -> list[dict[str, Any]]:
    data = b"".join(batches)
    found: list[dict[str, Any]] = []
    for plain in unfold(data, walk(data)):
        found += decode(plain, TOPIC, 3, include_headers=include_headers).to_pylist()
    return found


def test_a_row_has_all_of_a_record() -> None:
    record = Record(
        timestamp=1_700_000_000_123, key=b"k", value=None, headers=[("h", b"v"), ("n", None)]
    )
    batch = build_batch([record, Record(timestamp=1_700_000_000_124, value=b"w")], base_offset=7)
    first, second = rows_of(batch)
    assert first == {
        "key": b"k",
        "value": None,
        "topic": TOPIC,
        "partition": 3,
        "offset": 7,
        "timestamp": datetime(2023, 11, 14, 22, 13, 20, 123000, tzinfo=UTC),
        "timestampType": 0,
        "headers": [{"key": "h", "value": b"v"}, {"key": "n", "value": None}],
    }
    assert (second["offset"], second["key"], second["headers"]) == (8, None, None)


def test_a_time_that_the_broker_stamped_is_the_batchs() -> None:
    stamped = batch_of(
        [
            Record(timestamp=5000, offset=0, value=b"a"),
            Record(timestamp=9000, offset=1, value=b"b"),
        ],
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        log_append_time_ms=9000,
    )
    found = rows_of(stamped, build_batch([Record(timestamp=1000, value=b"c")], base_offset=2))
    assert [(each["timestamp"], each["timestampType"]) for each in found] == [
        (datetime(1970, 1, 1, 0, 0, 9, tzinfo=UTC), 1),
        (datetime(1970, 1, 1, 0, 0, 9, tzinfo=UTC), 1),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 0),
    ]


@pytest.mark.parametrize("time_ms", [1 << 62, -(1 << 62), 9_223_372_036_854_776])
def test_a_time_that_spark_cannot_hold_is_told(time_ms: int) -> None:
    with pytest.raises(TimestampTooFar, match=f"{time_ms} ms does not fit Spark's microseconds"):
        rows_of(build_batch([Record(timestamp=time_ms, value=b"v")]))


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
