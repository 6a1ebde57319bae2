"""A request that waits for its response."""

from __future__ import annotations

from kafkalite.group_coordinator.pending_response import Parked


def test_a_response_that_is_there_needs_no_waiting() -> None:
    parked: Parked[int] = Parked()
    assert not parked.is_answered
    parked.answer(7)
    assert parked.is_answered
    assert parked.response_now == 7


def test_who_waits_is_told_of_the_response() -> None:
    parked: Parked[int] = Parked()
    got: list[int] = []
    parked.when_answered(lambda: got.append(parked.response_now))
    assert got == []
    parked.answer(7)
    assert got == [7]
