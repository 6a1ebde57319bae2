"""A sweep finds planted mistakes at the right position, and accuses no correct program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager

import msgspec
import pytest

from kafkalite.client.effects import check_effects
from kafkalite.client.kit import Kit
from kafkalite.client.sweep import (
    NothingToSweep,
    SweepReport,
    counting_rule,
    criteria,
    position,
    positions_of,
    rule_at,
    sweep,
)
from kafkalite.control.faults.rule import Rule
from kafkalite.faults import drop, error
from kafkalite.testing import broker
from tests.kafkalite.control.clients import produced, producer

PRODUCE = criteria(["Produce"], {"topic": "out"})
VALUES = ("1", "2", "3")


def new_cluster(k: broker) -> AbstractContextManager[Kit]:
    return k.new_cluster()


def writes(kit: Kit, name: str, **configs: object) -> str | None:
    """Three records, each in a request of its own."""
    kit.create_topic("out")
    made = producer(kit, **configs)
    for value in VALUES:
        made.produce("out", value)
        made.flush(30)
    effects = check_effects(VALUES, [r.value or "" for r in kit.records("out")], by=str)
    return None if effects else str(effects)


@pytest.fixture(scope="module")
def k() -> Iterator[broker]:
    with broker(profile="test") as running:
        yield running


def test_a_producer_that_is_not_idempotent_is_caught_wherever_an_answer_is_lost(k: broker) -> None:
    report = sweep(lambda: new_cluster(k), writes, PRODUCE, [drop.after])
    assert [(each.number, each.why) for each in report.failed] == [
        (number, f"twice: {number}") for number in (1, 2, 3)
    ]
    assert "3 requests match: 0 passed, 3 failed, 0 not reached" in str(report)


def test_an_idempotent_one_is_not_accused(k: broker) -> None:
    def run(kit: Kit, name: str) -> str | None:
        return writes(kit, name, **{"enable.idempotence": True})

    report = sweep(lambda: new_cluster(k), run, PRODUCE, [drop.after, drop.before])
    assert [each.outcome for each in report.positions] == ["passed"] * 6
    assert not report.failed


def test_the_position_of_a_planted_mistake(k: broker) -> None:
    """The program takes an error of its second record for a success."""

    def careless(kit: Kit, name: str) -> str | None:
        kit.create_topic("out")
        for value in VALUES:
            has_failed = produced(kit, "out", value.encode())[0] is not None
            if has_failed and value != "2":
                produced(kit, "out", value.encode())
        effects = check_effects(VALUES, [r.value or "" for r in kit.records("out")], by=str)
        return None if effects else str(effects)

    report = sweep(lambda: new_cluster(k), careless, PRODUCE, [error("POLICY_VIOLATION")])
    assert [(each.number, each.why) for each in report.failed] == [(2, "lost: 2")]
    repeated = msgspec.json.decode(report.failed[0].line, type=Rule)
    with k.new_cluster() as again:
        again.ask(
            "faults.add", **{name: getattr(repeated, name) for name in Rule.__struct_fields__}
        )
        assert careless(again, "") == "lost: 2"


def test_what_is_not_reached_has_not_passed(k: broker) -> None:
    """After the first run the program sends fewer requests."""
    runs: list[str] = []

    def shorter(kit: Kit, name: str) -> str | None:
        kit.create_topic("out")
        made = producer(kit, **{"enable.idempotence": True})
        for value in VALUES[: 1 if runs else 3]:
            made.produce("out", value)
            made.flush(30)
        runs.append(name)
        return None

    report = sweep(lambda: new_cluster(k), shorter, PRODUCE, [drop.after])
    assert [each.outcome for each in report.positions] == ["passed", "not reached", "not reached"]
    assert runs == ["without a fault", "drop after 1", "drop after 2", "drop after 3"]


def test_without_a_request_or_a_first_success_there_is_no_sweep(k: broker) -> None:
    with pytest.raises(NothingToSweep, match="no request matches"):
        sweep(lambda: new_cluster(k), lambda kit, name: None, PRODUCE, [drop.after])
    with pytest.raises(NothingToSweep, match="fails without a fault: always"):
        sweep(lambda: new_cluster(k), lambda kit, name: "always", PRODUCE, [drop.after])


def test_positions_go_request_by_request_up_to_the_limit() -> None:
    chosen = positions_of(3, 5, [drop.after, drop.before])
    assert chosen == [
        (1, drop.after),
        (1, drop.before),
        (2, drop.after),
        (2, drop.before),
        (3, drop.after),
    ]
    report = SweepReport(3, 1)
    assert str(report).endswith("1 left out by the limit")


def test_a_rule_is_for_one_request_and_counting_for_all() -> None:
    assert counting_rule(PRODUCE).times is None
    rule = rule_at(PRODUCE, drop.after, 3)
    assert (rule.skip, rule.times, rule.optional) == (2, 1, True)
    missed = position(3, drop.after, rule, "it fails", was_reached=False)
    assert (missed.outcome, missed.why) == ("failed", "it fails (the fault was not reached)")


def test_failures_are_listed_from_the_smallest() -> None:
    rules = {number: rule_at(PRODUCE, drop.after, number) for number in (3, 1)}
    found = [position(each, drop.after, rules[each], "why", was_reached=True) for each in (3, 1)]
    assert [each.number for each in SweepReport(3, positions=found).failed] == [1, 3]
