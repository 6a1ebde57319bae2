"""Changes in turn: in the order in which they were asked for, and none is left half done."""

from __future__ import annotations

import pytest

from kafkalite.requests.in_turn import InTurn
from kafkalite.requests.slices import Steps, at_once


class Notes:
    """Steps that note how far they are."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.changes = InTurn()

    def steps(self, name: str) -> Steps[str]:
        for number in range(3):
            self.done.append(f"{name}{number}")
            yield
        return name

    def failing(self) -> Steps[None]:
        yield
        raise ValueError("no")


def test_the_second_waits_for_the_first_of_another_request() -> None:
    notes = Notes()
    first = notes.changes.do(notes.steps("a"))
    next(first)
    assert at_once(notes.changes.do(notes.steps("b"))) == "b"
    assert notes.done == ["a0", "a1", "a2", "b0", "b1", "b2"]
    assert at_once(first) == "a"


def test_all_wait_for_the_disk_that_one_change_waits_for() -> None:
    notes = Notes()

    def waiting() -> Steps[None]:
        yield lambda: notes.done.append("disk")
        notes.done.append("after")

    first, second = notes.changes.do(waiting()), notes.changes.do(notes.steps("b"))
    waits = [next(first), next(second), next(second)]
    assert notes.done == []
    for wait in waits:
        assert wait is not None
        wait()
    assert notes.done == ["disk"]
    assert at_once(second) == "b"
    at_once(first)
    assert notes.done == ["disk", "after", "b0", "b1", "b2"]


def test_a_change_whose_request_is_gone_is_finished() -> None:
    notes = Notes()
    first = notes.changes.do(notes.steps("a"))
    next(first)
    at_once(notes.changes.finish())
    assert notes.done == ["a0"]  # its request takes it further
    first.close()
    at_once(notes.changes.finish())
    assert notes.done == ["a0", "a1", "a2"]


def test_a_failure_is_of_the_change_that_failed_alone() -> None:
    notes = Notes()
    failing = notes.changes.do(notes.failing())
    next(failing)
    assert at_once(notes.changes.do(notes.steps("b"))) == "b"
    with pytest.raises(ValueError, match="no"):
        at_once(failing)
