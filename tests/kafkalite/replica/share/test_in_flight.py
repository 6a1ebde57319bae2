"""Records in flight: every (state, event) pair, and batches against a plain dictionary."""

from __future__ import annotations

import random

import pytest

from kafkalite.replica.share.in_flight import (
    NEVER,
    NO_MEMBER,
    TRANSITIONS,
    Delivery,
    InFlightBatch,
    InFlightBatches,
    RecordEvent,
    RecordState,
)

S, E = RecordState, RecordEvent

ALLOWED = {
    (S.AVAILABLE, E.ACQUIRE): S.ACQUIRED,
    (S.AVAILABLE, E.REMOVE): S.ARCHIVED,
    (S.ACQUIRED, E.ACCEPT): S.ACKNOWLEDGED,
    (S.ACQUIRED, E.RELEASE): S.AVAILABLE,
    (S.ACQUIRED, E.EXHAUST): S.ARCHIVED,
    (S.ACQUIRED, E.REJECT): S.ARCHIVED,
    (S.ACQUIRED, E.RENEW): S.ACQUIRED,
    (S.ACQUIRED, E.REMOVE): S.ARCHIVED,
}


@pytest.mark.parametrize("event", RecordEvent)
@pytest.mark.parametrize("state", RecordState)
def test_every_state_and_event(state: RecordState, event: RecordEvent) -> None:
    delivery = Delivery(state, 3, "member", 5.0)
    expected = ALLOWED.get((state, event))
    if expected is None:
        with pytest.raises(KeyError):
            delivery.on(event)
        assert delivery.state is state
        return
    delivery.on(event)
    assert delivery.state is expected
    assert delivery.count == 3
    if expected is not S.ACQUIRED:
        assert (delivery.member_id, delivery.deadline) == (NO_MEMBER, NEVER)


def test_what_is_final_stays() -> None:
    assert {state for state in RecordState if state.is_final} == {S.ACKNOWLEDGED, S.ARCHIVED}
    assert all(not TRANSITIONS[state] for state in RecordState if state.is_final)


def test_states_have_kafkas_numbers() -> None:
    assert [int(state) for state in RecordState] == [0, 1, 2, 4]


def test_what_is_let_go_is_with_nobody() -> None:
    delivery = Delivery(S.ACQUIRED, 1, "member", 1.0)
    assert delivery.is_with_member
    delivery.let_go()
    assert not delivery.is_with_member
    assert (delivery.state, delivery.deadline) == (S.ACQUIRED, NEVER)
    delivery.on(E.RELEASE)
    assert delivery.state is S.AVAILABLE


def test_batches_against_a_dictionary() -> None:
    chance = random.Random(7)
    batches, plain = InFlightBatches(), dict[int, int]()
    spans = [(first, first + chance.randrange(10)) for first in range(0, 2000, 10)]
    chance.shuffle(spans)
    for first, last in spans[:150]:
        batches.add(InFlightBatch(first, last, Delivery(S.ACQUIRED, 1)))
        plain[first] = last
    for _ in range(500):
        offset = chance.randrange(-5, 2010)
        floor = max((first for first in plain if first <= offset), default=None)
        found = batches.floor(offset)
        assert (found.first_offset if found else None) == floor
        after = min((first for first in plain if first > offset), default=None)
        behind = batches.after(offset)
        assert (behind.first_offset if behind else None) == after
        upper = offset + chance.randrange(100)
        within = [batch.first_offset for batch in batches.beginning_in(offset, upper)]
        assert within == sorted(first for first in plain if offset <= first <= upper)
    middle = list(batches)[75]
    batches.remove_before(middle)
    assert batches.first is middle


def test_one_that_begins_where_another_does_takes_its_place() -> None:
    batches = InFlightBatches()
    for last in (9, 14):
        batches.add(InFlightBatch(10, last, Delivery(S.ACQUIRED, 1)))
    assert [run[:2] for batch in batches for run in batch.runs()] == [(10, 14)]


def test_taken_apart_every_record_stands_for_itself() -> None:
    batch = InFlightBatch(10, 14, Delivery(S.ACQUIRED, 2, "member", 9.0))
    assert [run[:2] for run in batch.runs()] == [(10, 14)]
    batch.take_apart()[1].on(E.ACCEPT)
    assert batch.at(11).state is S.ACKNOWLEDGED
    assert batch.at(12).state is S.ACQUIRED
    assert [offset for offset, _ in batch.between(9, 12)] == [10, 11, 12]
    assert [run[:2] for run in batch.runs()] == [(n, n) for n in range(10, 15)]
