"""Digests: equal for equal records, however they are split; different for all that may differ."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

from kafkalite.spark import digest
from kafkalite.spark.schema import HEADERS_TYPE as HEADERS
from kafkalite.wire.record_batch import Record


def random_records(seed: int, count: int) -> list[Record]:
    """All that may differ between records: nulls, sizes around varint limits, headers, holes."""
    chance = random.Random(seed)

    def some_bytes() -> bytes | None:
        size = chance.choice([None, 0, 1, 7, 8, 63, 64, 65, 200, 8191, 8192])
        return None if size is None else chance.randbytes(size)

    offset, records = chance.choice([0, 10**12]), []
    for _ in range(count):
        headers = [
            (chance.choice(["", "a", "ä" * 40]), some_bytes())
            for _ in range(chance.choice([0, 0, 1, 3]))
        ]
        timestamp = chance.choice([-1, 0, 1_600_000_000_000, 1_600_000_000_000 + 2**40])
        records.append(Record(offset, timestamp, some_bytes(), some_bytes(), headers))
        offset += chance.choice([1, 1, 1, 2, 100, 2**20])
    return records


def table(records: list[Record], *, with_headers: bool = True) -> Any:
    columns = {
        "key": pa.array([record.key for record in records], pa.binary()),
        "value": pa.array([record.value for record in records], pa.binary()),
        "timestamp": pa.array([record.timestamp for record in records], pa.int64()),
        "offset": pa.array([record.offset for record in records], pa.int64()),
    }
    if with_headers:
        rows = [
            [{"key": key, "value": value} for key, value in record.headers] or None
            for record in records
        ]
        columns["headers"] = pa.array(rows, HEADERS)
    return pa.table(columns)


@pytest.mark.parametrize("seed", range(10))
def test_a_digest_is_that_of_its_parts(seed: int) -> None:
    rows = table(random_records(seed, 50))
    whole = digest.digest(rows)
    chance = random.Random(seed)
    cut = chance.randrange(51)
    parts = [digest.digest(rows.slice(0, cut)), digest.digest(rows.slice(cut))]
    assert digest.add(*parts) == whole
    assert digest.digest(rows.take(list(reversed(range(50))))) == whole


CHANGES: list[dict[str, Any]] = [
    {"key": None},
    {"key": b"kez"},
    {"key": b"key\0"},
    {"value": b""},
    {"value": None},
    {"value": b"value-01value-00" * 3},
    {"timestamp": 2},
    {"offset": 8},
    {"headers": [("a", b"2"), ("a", b"1")]},
    {"headers": [("a", b"1")]},
    {"headers": [("a", b"1"), ("a", None)]},
    {"headers": []},
    {"key": b"value-00value-01" * 3, "value": b"key"},
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_digest_sees_every_change(change: dict[str, Any]) -> None:
    record = Record(7, 1, b"key", b"value-00value-01" * 3, [("a", b"1"), ("a", b"2")])
    assert digest.digest(table([record])) != digest.digest(table([record._replace(**change)]))


def test_no_headers_are_an_empty_list_of_them() -> None:
    record = Record(7, 1, b"key", b"value")
    without = table([record], with_headers=False)
    empty = pa.table(
        [*without.columns, pa.array([[]], HEADERS)], [*without.column_names, "headers"]
    )
    assert digest.digest(without) == digest.digest(table([record])) == digest.digest(empty)
