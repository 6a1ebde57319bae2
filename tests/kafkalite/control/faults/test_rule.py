"""A rule is a value: its actions are one kind each, and some end what later rules may see."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kafkalite.control.faults.rule import KINDS, Action, Rule, check_rule, error_code
from kafkalite.control.problems import Problem
from kafkalite.wire.errors import ErrorCode


def rule(**fields: Any) -> Rule:
    return msgspec.convert(fields, Rule)


EXAMPLES: dict[str, Any] = {
    "delay": "1s",
    "uniform": ["1s", "2s"],
    "lognormal": {"median": "1s"},
    "hold": True,
    "error": "NOT_COORDINATOR",
    "drop": "before",
    "silence": "before",
    "cut": 0.5,
    "dribble": {},
    "throttle": "1s",
    "patch": {},
    "answer": {},
    "corrupt": "crc",
    "repeat": 2,
    "run": "reset",
    "count": True,
    "errno": "EIO",
    "short": 100,
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_an_action_by_itself(kind: str) -> None:
    (action,) = check_rule(rule(do=[{kind: EXAMPLES[kind]}])).do
    assert action.kind == kind
    assert action.is_final == (kind in {"error", "drop", "silence", "cut", "answer", "errno"})
    assert action.is_after == (kind in {"cut", "dribble", "throttle", "patch", "corrupt"})


@pytest.mark.parametrize(
    "action",
    [
        {"drop": "after"},
        {"silence": "after"},
        {"hold": "after"},
        {"error": "NOT_COORDINATOR", "apply": True},
        {"run": "reset", "at": "then"},
    ],
)
def test_after_means_that_the_request_is_handled_first(action: dict[str, Any]) -> None:
    assert msgspec.convert(action, Action).is_after


def test_a_sequence_is_gone_through_as_often_as_times_says() -> None:
    first, second = {"drop": "before"}, {"count": True}
    turns = rule(sequence=[[first], [second]], times=3)
    assert turns.limit == 6
    assert [turns.actions(turn)[0].kind for turn in range(4)] == ["drop", "count", "drop", "count"]
    assert rule(sequence=[[first], [second]], times=None).limit is None
    once = rule(do=[first, second])
    assert once.limit == 1
    assert [[each.kind for each in once.actions(turn)] for turn in (0, 1)] == [
        ["drop", "count"],
        ["drop", "count"],
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "needs either"),
        ({"do": [{"count": True}], "sequence": [[{"count": True}]]}, "needs either"),
        ({"do": [{}]}, "one kind"),
        ({"do": [{"drop": "after", "count": True}]}, "one kind"),
        ({"sequence": [[{"count": True}], [{}]]}, "one kind"),
        ({"do": [{"error": "NO_SUCH"}]}, "no error 'NO_SUCH'"),
        ({"do": [{"error": "NONE"}]}, "NONE is no error"),
        ({"do": [{"delay": "soon"}]}, "delay is 'soon', which is not a duration"),
        ({"do": [{"throttle": "-1s"}]}, "throttle is '-1s', which is negative"),
        ({"do": [{"uniform": ["1s", "x"]}]}, "uniform"),
        ({"do": [{"lognormal": {"median": "x"}}]}, "lognormal.median"),
        ({"do": [{"dribble": {"every": "x"}}]}, "dribble.every"),
        ({"do": [{"count": True}], "for": "x"}, "for"),
    ],
)
def test_a_rule_that_cannot_be_done_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(Problem, match=message):
        check_rule(rule(**fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"when": {"client": "x"}, "do": [{"count": True}]},
        {"do": [{"count": True}], "woken": True},
    ],
)
def test_what_no_rule_can_do_is_refused(fields: dict[str, Any]) -> None:
    """A rule that would never act must not be taken."""
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        rule(**fields)


@pytest.mark.parametrize(
    "fields",
    [
        {"skip": -1},
        {"times": 0},
        {"every": 0},
        {"probability": 1.5},
        {"do": [{"repeat": 1}]},
        {"do": [{"repeat": 1001}]},
        {"do": [{"cut": -1}]},
        {"do": [{"drop": "later"}]},
        {"do": [{"corrupt": "key"}]},
        {"do": [{"dribble": {"bytes": 0}}]},
    ],
)
def test_numbers_and_words_out_of_range_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        rule(**fields)


def test_an_error_goes_by_its_name_or_its_number() -> None:
    assert error_code("NOT_LEADER_OR_FOLLOWER") is error_code(6) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert error_code(-1) is ErrorCode.UNKNOWN_SERVER_ERROR
    for unknown in (0, "NONE", 9999, "not_leader_or_follower"):
        with pytest.raises(Problem) as caught:
            error_code(unknown)
        assert caught.value.code == "unknown_error"
