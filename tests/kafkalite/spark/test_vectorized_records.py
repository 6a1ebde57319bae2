"""Records are found in many batches side by side, as they are found one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kafkalite.spark.vectorized_records import CorruptRecords, by_pair, read_records
from kafkalite.wire.record_batch import (
    HEADER_BYTES,
    Record,
    RecordBatch,
    build_batch,
    iterate_records,
)


def found(*batches: bytes) -> list[tuple[int, bytes | None, bytes | None, int]]:
    """Offset delta, key, value and number of headers of each record."""
    data = np.frombuffer(b"".join(batches), np.uint8)
    sizes = np.cumsum([0, *map(len, batches)])
    counts = [int.from_bytes(batch[57:61]) for batch in batches]
    records = read_records(data, sizes[:-1] + HEADER_BYTES, sizes[1:], np.array(counts, np.int64))
    pairs = by_pair(records.edges).tolist()
    return [
        (
            int(records.offset_deltas[i]),
            None if records.key_is_null[i] else bytes(data[pair[0] : pair[1]]),
            None if records.value_is_null[i] else bytes(data[pair[2] : pair[3]]),
            int(records.header_counts[i]),
        )
        for i, pair in enumerate(pairs)
    ]


def expected(*batches: bytes) -> list[tuple[int, bytes | None, bytes | None, int]]:
    rows = []
    for data in batches:
        batch = RecordBatch(data)
        for each in iterate_records(batch):
            delta = each.offset - batch.base_offset
            rows.append((delta, each.key, each.value, len(each.headers)))
    return rows


def batch(rng: random.Random, count: int) -> bytes:
    """Some values look like records, so that a guess may be wrong."""

    def blob() -> bytes | None:
        size = rng.choice((None, 0, 1, 63, 64, 200))
        if size is None:
            return None
        return rng.choice((bytes(size), b"\x0c" * size, rng.randbytes(size)))

    records = [
        Record(
            timestamp=1000 + rng.randrange(-5, 5),
            key=blob(),
            value=blob(),
            headers=[("h", blob())] * rng.choice((0, 0, 2)),
        )
        for _ in range(count)
    ]
    return build_batch(records)


@pytest.mark.parametrize("seed", range(8))
def test_large_and_small_batches_beside_each_other(seed: int) -> None:
    rng = random.Random(seed)
    batches = [batch(rng, count) for count in (1, 3, 700, 1, 150, 2000)]
    rng.shuffle(batches)
    assert found(*batches) == expected(*batches)


def test_no_batch_has_no_records() -> None:
    none = np.array([], np.int64)
    assert len(read_records(np.zeros(0, np.uint8), none, none, none).ends) == 0


@pytest.mark.parametrize("count", [-1, 0, 2, 4, 1 << 30])
def test_another_number_of_records_is_told(count: int) -> None:
    data = np.frombuffer(build_batch([Record(value=b"v" * 20)] * 3), np.uint8)
    start, end = np.array([HEADER_BYTES]), np.array([len(data)])
    if count == 0:
        assert len(read_records(data, start, end, np.array([0])).ends) == 0
        return
    with pytest.raises(CorruptRecords):
        read_records(data, start, end, np.array([count]))
