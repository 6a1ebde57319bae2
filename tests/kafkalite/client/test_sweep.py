"""A sweep finds planted mistakes at the right position, and accuses no correct program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from threading import Barrier
from time import time

import msgspec
import pytest

from conformance.harness.raw import RawConnection, produce_v3, produced_v3, record_batch
from kafkalite.client.effects import check_effects
from kafkalite.client.kit import Kit
from kafkalite.client.sweep import (
    NothingToSweep,
    Plan,
    SweepReport,
    counting_rule,
    criteria,
    position,
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
    report = sweep(lambda: new_cluster(k), writes, Plan(PRODUCE, [drop.after]))
    assert [(each.numbers, each.why) for each in report.failed] == [
        ((number,), f"twice: {number}") for number in (1, 2, 3)
    ]
    assert "3 requests match: 0 passed, 3 failed, 0 not reached" in str(report)


@pytest.mark.slow
def test_an_idempotent_one_is_not_accused(k: broker) -> None:
    def run(kit: Kit, name: str) -> str | None:
        return writes(kit, name, **{"enable.idempotence": True})

    report = sweep(lambda: new_cluster(k), run, Plan(PRODUCE, [drop.after, drop.before]))
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

    report = sweep(lambda: new_cluster(k), careless, Plan(PRODUCE, [error("POLICY_VIOLATION")]))
    assert [(each.numbers, each.why) for each in report.failed] == [((2,), "lost: 2")]
    repeated = msgspec.json.decode(report.failed[0].line, type=Rule)
    with k.new_cluster() as again:
        again.ask(
            "faults.add", **{name: getattr(repeated, name) for name in Rule.__struct_fields__}
        )
        assert careless(again, "") == "lost: 2"


@pytest.mark.slow
def test_one_position_of_a_hundred(k: broker) -> None:
    """The program sends a hundred requests, and all that failed again, but for the 58th."""
    numbers = range(100)
    now_ms = int(time() * 1000)

    def careless(kit: Kit, name: str) -> str | None:
        kit.create_topic("out")
        with RawConnection(kit.bootstrap) as connection:

            def send(*some: int) -> list[int]:
                for number in some:
                    batch = record_batch(b"%d" % number, timestamp_ms=now_ms)
                    connection.send_frame(produce_v3("out", batch, correlation_id=number))
                return [produced_v3(connection.receive())[0] for _ in some]

            failed = [number for number, code in enumerate(send(*numbers)) if code]
            send(*(number for number in failed if number != 57))
        written = [int(each.value or "") for each in kit.records("out")]
        return None if sorted(written) == [*numbers] else "lost"

    report = sweep(lambda: new_cluster(k), careless, Plan(PRODUCE, [error("POLICY_VIOLATION")]))
    assert report.requests == 100
    assert [(each.numbers, each.why) for each in report.failed] == [((58,), "lost")]


def test_several_at_a_time_are_reported_in_order(k: broker) -> None:
    told: list[tuple[int, int]] = []
    together = Barrier(2)

    def run(kit: Kit, name: str) -> str | None:
        if name != "without a fault":
            together.wait(30)
        return writes(kit, name)

    plan = Plan(PRODUCE, [drop.after], limit=2)
    report = sweep(lambda: new_cluster(k), run, plan, jobs=2, tell=lambda *far: told.append(far))
    assert [each.why for each in report.positions] == ["twice: 1", "twice: 2"]
    assert told == [(1, 2), (2, 2)]


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

    report = sweep(lambda: new_cluster(k), shorter, Plan(PRODUCE, [drop.after]))
    assert [each.outcome for each in report.positions] == ["passed", "not reached", "not reached"]
    assert runs == ["without a fault", "drop after 1", "drop after 2", "drop after 3"]


def test_without_a_request_or_a_first_success_there_is_no_sweep(k: broker) -> None:
    with pytest.raises(NothingToSweep, match="no request matches"):
        sweep(lambda: new_cluster(k), lambda kit, name: None, Plan(PRODUCE, [drop.after]))
    with pytest.raises(NothingToSweep, match="fails without a fault: always"):
        sweep(lambda: new_cluster(k), lambda kit, name: "always", Plan(PRODUCE, [drop.after]))


def test_pairs_find_what_no_single_fault_shows(k: broker) -> None:
    """The program tries a record once more, and then takes it for written."""

    def tries_twice(kit: Kit, name: str) -> str | None:
        kit.create_topic("out")
        for value in ("1", "2"):
            if produced(kit, "out", value.encode())[0] is not None:
                produced(kit, "out", value.encode())
        effects = check_effects(("1", "2"), [r.value or "" for r in kit.records("out")], by=str)
        return None if effects else str(effects)

    refused = error("POLICY_VIOLATION")
    report = sweep(lambda: new_cluster(k), tries_twice, Plan(PRODUCE, [refused], pairs=True))
    assert [(each.numbers, each.outcome, each.why) for each in report.positions] == [
        ((1,), "passed", ""),
        ((2,), "passed", ""),
        ((1, 2), "failed", "lost: 1"),
        ((2, 3), "failed", "lost: 2"),
        ((1, 3), "passed", ""),
    ]
    said = "FAILED with error POLICY_VIOLATION at request 1, error POLICY_VIOLATION at request 2"
    assert f"{said}: lost: 1" in str(report)


def test_positions_go_request_by_request_up_to_the_limit() -> None:
    both = [drop.after, drop.before]
    assert Plan(PRODUCE, both, limit=5).places(3) == (
        [((number, each),) for number in (1, 2) for each in both] + [((3, drop.after),)],
        1,
    )
    assert str(SweepReport(3, 1)).endswith("1 left out by the limit")


def test_pairs_come_after_single_faults_and_neighbours_first() -> None:
    places, left_out = Plan(PRODUCE, [drop.after], pairs=True).places(3)
    numbers = [tuple(number for number, _ in place) for place in places]
    assert numbers == [(1,), (2,), (3,), (1, 2), (2, 3), (3, 4), (1, 3), (2, 4), (1, 4)]
    assert left_out == 0
    both = Plan(PRODUCE, [drop.after, drop.before], pairs=True, limit=4)
    places, left_out = both.places(2)
    assert len(places) == 4
    assert left_out == len(Plan(PRODUCE, both.do, pairs=True).places(2)[0]) - 4
    assert ((1, drop.after), (2, drop.before)) in Plan(PRODUCE, both.do, pairs=True).places(2)[0]


def test_a_rule_is_for_one_request_or_two_and_counting_for_all() -> None:
    assert counting_rule(PRODUCE).times is None
    place = ((3, drop.after),)
    rule = rule_at(PRODUCE, place)
    assert (rule.skip, rule.limit, rule.optional) == (2, 1, True)
    missed = position(place, rule, "it fails", 0)
    assert (missed.outcome, missed.why) == ("failed", "it fails (the fault was not reached)")
    pair = (*place, (5, drop.before))
    rule = rule_at(PRODUCE, pair)
    assert (rule.skip, rule.every, rule.limit) == (2, 2, 2)
    assert rule.sequence == ((drop.after,), (drop.before,))
    outcomes = [position(pair, rule, None, applied).outcome for applied in (0, 1, 2)]
    assert outcomes == ["not reached", "not reached", "passed"]


def test_failures_are_listed_from_the_smallest() -> None:
    places = [((3, drop.after),), ((1, drop.after), (2, drop.after)), ((1, drop.after),)]
    found = [position(each, rule_at(PRODUCE, each), "why", len(each)) for each in places]
    failed = SweepReport(3, positions=found).failed
    assert [each.numbers for each in failed] == [(1,), (3,), (1, 2)]
