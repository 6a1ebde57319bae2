"""Mistakes in a test that uses the verbs in its own process: each is told, as over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kafkalite.control.problems import Problem
from kafkalite.faults import Action, corrupt, delay, drop
from kafkalite.testing import broker


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        (lambda k: k.wait.records("t", 1, timeout=1), "timeout is 1: it is a duration: '250ms'"),
        (lambda k: k.clock.advance(46), "by is 46: it is a duration"),
        (lambda k: k.clock.advance("46 s"), "which is not a duration (write a number and a unit"),
        (lambda k: k.fault("Produce", do=delay(0.2)), "delay is 0.2: it is a duration"),
        (lambda k: k.fault("Produce", do=drop), "do is drop, which is no action (drop.before or "),
        (lambda k: k.fault("Produce", do="drop"), "do is 'drop', which is no action (those of "),
        (lambda k: k.fault("Fetch", do=corrupt("sum")), "corrupt is 'sum': it is crc or length"),
        (lambda k: k.fault("Fetch", times=-1, do=drop.after), "times is -1: expected `int` >= 1"),
        (lambda k: k.fault("Fetch", probability=50, do=drop.after), "probability is 50"),
        (lambda k: k.fault("Fetch", topic={"re": "("}, do=drop.after), "topic: missing )"),
        (lambda k: k.fault("Fetch", request={"ack": 1}, do=drop.after), "has no field 'ack'"),
        (lambda k: k.preset("lost_akc"), "there is no preset 'lost_akc' (lost_ack, "),
        (lambda k: k.preset("throttled"), "throttled needs client_id (its parameters are "),
        (lambda k: k.preset("lost_ack", topics="t"), "lost_ack has no topics"),
        (lambda k: k.spy("fulll"), "mode is 'fulll': it is off or on or full"),
        (lambda k: k.group("g").seek("t", -5), "to is -5: expected"),
        (lambda k: k.group("g").seek("t", 2**63), f"to is {2**63}"),
        (lambda k: k.ask("topics.lose", topic="t", to=-2), "to is -2: expected"),
        (lambda k: k.produce("t", "1", timestamp=2**70), f"timestamp is {2**70}"),
        (lambda k: k.produce("t", "1", timestamp=-2), "timestamp is -2: expected"),
        (lambda k: k.ask("topics.lst"), "there is no verb 'topics.lst'"),
    ],
)
def test_a_mistake_is_a_problem(k: broker, mistake: Callable[[Any], object], told: str) -> None:
    with pytest.raises(Problem) as caught:
        mistake(k)
    assert told.replace("`", "") in str(caught.value)
    assert k.faults.list() == []


@pytest.mark.parametrize(
    ("mistake", "told"),
    [
        (
            lambda k: k.fault("Produce", topics="t", do=drop.after),
            "this has no field 'topics' (did you mean 'topic'?)",
        ),
        (lambda k: k.seed({"topcs": []}), "this has no field 'topcs' (did you mean 'topics'?)"),
        (
            lambda k: k.seed({"topics": [{"name": "t", "records": [{"valu": "x"}]}]}),
            "topics.0.records.0 has no field 'valu' (did you mean 'value'?)",
        ),
        (
            lambda k: k.seed({"groups": [{"id": "g", "offsets": {"t": {0: -1}}}]}),
            "Expected `int` >= 0 - at `$.groups[0].offsets",
        ),
        (lambda k: k.wait.until({"topic": {"nme": "t"}}), "topic has no field 'nme'"),
    ],
)
def test_what_a_value_may_not_be(k: broker, mistake: Callable[[Any], object], told: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        mistake(k)
    assert told in str(caught.value)


def test_a_request_that_did_not_come_is_told_without_the_rule_that_counts(k: broker) -> None:
    with pytest.raises(AssertionError, match=r"0 of 1 such requests came \(no request of its API"):
        k.wait.request("Fetch", timeout="10ms")


def test_a_list_of_actions_is_one(k: broker) -> None:
    actions: list[Action] = [delay("1ms"), drop.after]
    k.fault("Produce", do=actions, optional=True)
    assert len(k.faults.list()[0].rule.do) == 2
