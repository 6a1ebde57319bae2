"""Actions of faults by short names: each is one that a rule of the book can have.

control/faults/test_faults.py has what clients meet by them.
"""

from __future__ import annotations

import pytest

from kafkalite import faults
from kafkalite.control.faults.rule import Action


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        (faults.drop.before, {"drop": "before"}),
        (faults.drop.after, {"drop": "after"}),
        (faults.silence.before, {"silence": "before"}),
        (faults.silence.after, {"silence": "after"}),
        (faults.hold, {"hold": True}),
        (faults.count, {"count": True}),
        (
            faults.error("NOT_COORDINATOR", message="m", apply=True),
            {"error": "NOT_COORDINATOR", "message": "m", "apply": True},
        ),
        (faults.delay("5s"), {"delay": "5s"}),
        (faults.cut(0.5, reset=True), {"cut": 0.5, "reset": True}),
        (faults.throttle("1s"), {"throttle": "1s"}),
        (faults.patch({"a.b": 7}), {"patch": {"a.b": 7}}),
        (faults.answer({"error_code": 1}), {"answer": {"error_code": 1}}),
        (faults.corrupt("crc"), {"corrupt": "crc"}),
        (faults.repeat(3), {"repeat": 3}),
    ],
)
def test_a_name_stands_for_an_action(action: Action, fields: dict[str, object]) -> None:
    assert action == Action(**fields)


def test_actions_with_parts() -> None:
    slow = faults.random_delay("10ms", 0.7).lognormal
    assert slow is not None
    assert (slow.median, slow.sigma) == ("10ms", 0.7)
    dribble = faults.dribble(2, "5ms").dribble
    assert dribble is not None
    assert (dribble.bytes, dribble.every) == (2, "5ms")


def test_a_leader_is_moved_by_a_verb() -> None:
    moved = faults.move_leader("t", 0, to=2)
    assert (moved.run, moved.at) == ("topics.lead", "before")
    assert moved.arguments == {"topic": "t", "partition": 0, "to": 2}
    assert faults.run("nodes.stop", at="then", node=2).at == "then"


def test_every_name_is_there() -> None:
    assert [name for name in faults.__all__ if not hasattr(faults, name)] == []
