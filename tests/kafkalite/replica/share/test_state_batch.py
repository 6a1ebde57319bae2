"""Stored states of records in flight, laid over one another as if each offset stood by itself."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.replica.share.state_batch import StateBatch, combine

BATCHES = st.lists(
    st.builds(
        lambda first, size, state, count: StateBatch(first, first + size, state, count),
        st.integers(0, 40),
        st.integers(0, 12),
        st.sampled_from([0, 2, 4]),
        st.integers(1, 4),
    ),
    max_size=8,
)


def each_offset(batches: list[StateBatch], start_offset: int) -> dict[int, tuple[int, int]]:
    found: dict[int, tuple[int, int]] = {}
    for batch in batches:
        for offset in range(batch.first_offset, batch.last_offset + 1):
            if offset >= start_offset:
                found[offset] = max(found.get(offset, (0, 0)), batch.progress)
    return found


@pytest.mark.slow
@settings(max_examples=400)
@given(BATCHES, BATCHES, st.integers(-1, 60))
def test_the_later_word_counts_for_each_offset(
    so_far: list[StateBatch], new: list[StateBatch], start_offset: int
) -> None:
    before = combine([], so_far, -1)
    combined = combine(before, new, start_offset)
    assert each_offset(combined, start_offset) == each_offset([*so_far, *new], start_offset)
    for left, right in pairwise(combined):
        assert left.last_offset < right.first_offset
        joined = left.last_offset + 1 == right.first_offset and left.progress == right.progress
        assert not joined, "neighbours in one state are one batch"


def test_an_accepted_record_stays_accepted_when_an_older_word_comes_again() -> None:
    accepted, released = StateBatch(0, 9, 2, 2), StateBatch(0, 9, 0, 1)
    assert combine([accepted], [released], 0) == [accepted]


def test_what_is_before_the_start_is_cut_off() -> None:
    assert combine([StateBatch(0, 9, 2, 1)], [], 4) == [StateBatch(4, 9, 2, 1)]
