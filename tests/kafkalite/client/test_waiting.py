"""Waiting: each verb is one condition, and a wait in vain says what is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kafkalite.client.errors import WaitTimeout
from kafkalite.client.parts import Fault
from kafkalite.client.waiting import Wait
from kafkalite.control.answers import Waited
from kafkalite.control.questions import Until


class Asked:
    """A cluster that notes what it is asked to wait for."""

    def __init__(self, waited: Waited) -> None:
        self.waited = waited
        self.until: Any = None
        self.timeout = ""

    def ask(self, verb: str, **fields: Any) -> Any:
        assert verb == "wait"
        self.until, self.timeout = fields["until"], fields["timeout"]
        return self.waited


MET = Waited(met=True, took_ms=1)


@pytest.mark.parametrize(
    ("wait", "until"),
    [
        (
            lambda k: k.group("g", members=3, assigned=True, topics=["t"]),
            {"group": {"id": "g", "members": 3, "assigned": True, "topics": ["t"]}},
        ),
        (
            lambda k: k.group("g", state="Stable", generation=2),
            {"group": {"id": "g", "state": "Stable", "generation": 2}},
        ),
        (
            lambda k: k.records("t", 3, partition=1, committed=True, since_now=True),
            {
                "records": {
                    "topic": "t",
                    "at_least": 3,
                    "partition": 1,
                    "committed": True,
                    "since_now": True,
                }
            },
        ),
        (lambda k: k.records("t"), {"records": {"topic": "t"}}),
        (
            lambda k: k.lag("g", 5, topics=["t"]),
            {"lag": {"group": "g", "at_most": 5, "topics": ["t"]}},
        ),
        (
            lambda k: k.committed("g", "t", 1, 7),
            {"committed": {"group": "g", "topic": "t", "partition": 1, "offset": 7}},
        ),
        (
            lambda k: k.transaction("x", "Ongoing"),
            {"transaction": {"id": "x", "state": "Ongoing"}},
        ),
        (lambda k: k.fault("f", 2), {"fault": {"id": "f", "applied": 2}}),
        (lambda k: k.fault(Fault(k, "f")), {"fault": {"id": "f"}}),
        (lambda k: k.held("f", 2), {"held": {"id": "f", "count": 2}}),
        (lambda k: k.held(Fault(k, "f")), {"held": {"id": "f"}}),
        (
            lambda k: k.connections("c", at_least=1, at_most=2),
            {"connections": {"client_id": "c", "at_least": 1, "at_most": 2}},
        ),
        (
            lambda k: k.request("Produce", count=2, topic="t"),
            {"request": {"when": {"api": "Produce", "topic": "t"}, "count": 2}},
        ),
        (
            lambda k: k.topic("t", exists=False, leaders=True),
            {"topic": {"name": "t", "exists": False, "leaders": True}},
        ),
        (lambda k: k.quiet("2s"), {"quiet": {"for": "2s"}}),
        (lambda k: k.until({"not": {"topic": {"name": "t"}}}), {"not": {"topic": {"name": "t"}}}),
    ],
)
def test_a_verb_is_one_condition(wait: Callable[[Any], Waited], until: dict[str, Any]) -> None:
    asked = Asked(MET)
    assert wait(Wait(asked)) is MET
    assert asked.until == msgspec.convert(until, Until)
    assert asked.timeout == "10s"


def test_every_condition_has_a_verb() -> None:
    conditions = {each.name for each in msgspec.structs.fields(Until)} - {"all", "any", "not_"}
    assert conditions <= set(dir(Wait))


def test_a_wait_in_vain_says_what_is_missing() -> None:
    vain = Asked(Waited(met=False, took_ms=2000, because="t has 1 of 3 records"))
    with pytest.raises(WaitTimeout, match=r"^t has 1 of 3 records \(after 2s\)$"):
        Wait(vain).records("t", 3, timeout="2s")
    assert vain.timeout == "2s"
    with pytest.raises(AssertionError):  # a test that waits in vain has failed
        Wait(vain).quiet()


def test_a_condition_without_sense_is_refused() -> None:
    asked = Asked(MET)
    with pytest.raises(msgspec.ValidationError):
        Wait(asked).until({"topics": {"name": "t"}})
    assert asked.until is None
