"""Topics are planned one by one, and added many at once."""

from __future__ import annotations

import pytest

from kafkalite.replica import topic_plans
from kafkalite.replica.topic_plans import carried_out
from kafkalite.requests.slices import Steps, WaitingSteps, at_once
from kafkalite.wire.errors import ErrorCode, KafkaError

ODD = KafkaError(ErrorCode.INVALID_REQUEST)
FULL = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)


def plan(number: int) -> Steps[tuple[str, list[object]]]:
    yield
    if number % 2:
        raise ODD
    return str(number), [number, number]


class Adding:
    """Notes what is added together; refuses what has `refused` in it."""

    def __init__(self, refused: int = -1) -> None:
        self.added: list[list[object]] = []
        self._refused = refused

    def add(self, records: list[object]) -> WaitingSteps[None]:
        yield None
        if self._refused in records:
            raise FULL
        self.added.append(records)


def test_all_that_can_be_planned_is_added_together() -> None:
    adding = Adding()
    results = at_once(carried_out(range(5), plan, adding.add))
    assert results == ["0", ODD, "2", ODD, "4"]
    assert adding.added == [[0, 0, 2, 2, 4, 4]]


def test_nothing_is_added_where_that_is_not_wanted_or_nothing_is_planned() -> None:
    assert at_once(carried_out(range(2), plan, None)) == ["0", ODD]
    adding = Adding()
    assert at_once(carried_out([1, 3], plan, adding.add)) == [ODD, ODD]
    assert not adding.added


@pytest.mark.parametrize("limit", ["TOPICS_AT_ONCE", "_RECORDS_AT_ONCE"])
def test_no_more_are_added_together_than_may_be(
    monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(topic_plans, limit, 2 if limit == "TOPICS_AT_ONCE" else 4)
    adding = Adding()
    at_once(carried_out(range(0, 10, 2), plan, adding.add))
    assert adding.added == [[0, 0, 2, 2], [4, 4, 6, 6], [8, 8]]


def test_an_error_is_that_of_all_that_were_added_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_plans, "TOPICS_AT_ONCE", 2)
    adding = Adding(refused=2)
    results = at_once(carried_out([0, 2, 3, 4], plan, adding.add))
    assert results == [FULL, FULL, ODD, "4"]
