"""Paths into messages that lead nowhere are refused when a rule is made."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.control.faults.book import RuleBook
from kafkalite.control.faults.rule import Rule, When
from kafkalite.control.problems import Problem
from kafkalite.faults import drop, patch


@pytest.mark.parametrize(
    ("api", "path", "told"),
    [
        ("Produce", "ack", "ProduceRequest has no field 'ack' (did you mean 'acks'?)"),
        ("Produce", "topic_data.name", "a list is before 'name' (write \"*\" for all of it"),
        ("Produce", "topic_data.*.nam", "TopicProduceData has no field 'nam'"),
        ("Produce", "acks.more", "a plain value has no field 'more'"),
        (["Produce", "Fetch"], "nothing", "has no field 'nothing'"),
    ],
)
def test_a_criterion_that_no_request_has(api: Any, path: str, told: str) -> None:
    rule = Rule(when=When(api=api, request={path: 1}), do=(drop.after,))
    with pytest.raises(Problem) as caught:
        RuleBook(lambda: 0).add(rule)
    assert caught.value.code == "invalid_fault"
    assert told in str(caught.value)


def test_a_patch_that_no_answer_has() -> None:
    rule = Rule(when=When(api="Produce"), do=(patch({"responses.*.nope": 1}),))
    with pytest.raises(Problem, match="TopicProduceResponse has no field 'nope'"):
        RuleBook(lambda: 0).add(rule)


@pytest.mark.parametrize(
    ("api", "path"),
    [
        ("Produce", "acks"),
        ("Produce", "topic_data.*.partition_data.0.index"),
        ("Fetch", "topics.*"),
        (["Produce", "Fetch"], "acks"),
        (None, "whatever"),
        ("*", "acks"),
    ],
)
def test_a_path_that_some_request_has(api: Any, path: str) -> None:
    RuleBook(lambda: 0).add(Rule(when=When(api=api, request={path: 1}), do=(drop.after,)))
