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


@pytest.mark.slow
@settings(max_examples=400)
@given(BATCHES, BATCHES)
def test_batches_that_nothing_touches_are_as_if_all_were_merged(
    so_far: list[StateBatch], new: list[StateBatch]
) -> None:
    before = combine([], so_far, -1)
    assert combine(before, new, -1) == combine([], [*before, *new], -1)


def test_the_last_of_records_that_come_back_one_by_one_stays_a_batch_of_its_own() -> None:
    # as in Apache Kafka, whose members then get it with the next fetch
    state = [StateBatch(1, 9, 0, 1)]
    for offset, count in [(1, 3), *((each, 2) for each in range(2, 10))]:
        state = combine(state, [StateBatch(offset, offset, 0, count)], -1)
    assert state == [StateBatch(1, 1, 0, 3), StateBatch(2, 8, 0, 2), StateBatch(9, 9, 0, 2)]


def test_neighbours_in_one_state_are_joined_by_the_next_update() -> None:
    state = [StateBatch(2, 8, 0, 2), StateBatch(9, 9, 0, 2), StateBatch(10, 10, 2, 1)]
    joined = [StateBatch(2, 9, 0, 2), StateBatch(10, 10, 2, 1)]
    assert combine(state, [], -1) == joined
    assert combine(state, [StateBatch(20, 20, 0, 1)], -1) == [*joined, StateBatch(20, 20, 0, 1)]


def test_an_accepted_record_stays_accepted_when_an_older_word_comes_again() -> None:
    accepted, released = StateBatch(0, 9, 2, 2), StateBatch(0, 9, 0, 1)
    assert combine([accepted], [released], 0) == [accepted]


def test_what_is_before_the_start_is_cut_off() -> None:
    assert combine([StateBatch(0, 9, 2, 1)], [], 4) == [StateBatch(4, 9, 2, 1)]
