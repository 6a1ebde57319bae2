"""Rows of topic-0 out of a data directory, and the same rows by kafkalite.wire."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kafkalite.spark.data_directory import (
    Isolation,
    bounds,
)
from kafkalite.spark.schema import RECORD_SCHEMA_WITH_HEADERS
from kafkalite.spark.segment_reader import read_partition
from kafkalite.wire.record_batch import (
    iterate_batches,
    iterate_records,
)
from tests.kafkalite.spark.conftest import TOPIC, DataDirectory

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
