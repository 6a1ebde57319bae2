"""Keys and values as records: the bytes that a batch of such records has."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from kafkalite.wire.record_batch import HEADER_BYTES, Record, build_batch
from kafkalite.wire.written_pairs import Pair, WrittenPairs

TIMESTAMP = 1_700_000_000_000


def check(pairs: list[Pair]) -> None:
    batch = build_batch([Record(timestamp=TIMESTAMP, key=key, value=value) for key, value in pairs])
    written = WrittenPairs(pairs)
    assert written.data() == batch[HEADER_BYTES:]
    assert (written.count, written.size_bytes) == (len(pairs), len(batch) - HEADER_BYTES)


@given(st.lists(st.tuples(st.binary(max_size=9000), st.none() | st.binary(max_size=9000))))
def test_pairs_are_records_of_their_batch_s_timestamp(pairs: list[Pair]) -> None:
    check(pairs)


@pytest.mark.parametrize("size", [0, 63, 64, 255, 256, 8191, 8192, 1_048_575, 1_048_576])
def test_sizes_around_those_of_a_number_s_bytes(size: int) -> None:
    check([(b"k" * size, b"v" * size), (b"", None)])


def test_offsets_of_one_two_and_three_bytes() -> None:
    check([(b"k", b"v")] * 8300)
