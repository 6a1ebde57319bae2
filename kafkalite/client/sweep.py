"""A sweep: something is run once for each request whose answer can be lost, and must pass.

A first run counts the requests that match, and must pass as well. Then comes a run for each of them
in a cluster of its own, with a fault at exactly this request. Runs differ: where fewer requests
come, the fault is not reached, and nothing is shown. Pairs of faults are for programs that pass
with one: the answer of the second try can be lost, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any, Final, Literal

import msgspec

from kafkalite.client.kit import Kit
from kafkalite.client.values import fields_of
from kafkalite.control.conversion import converted
from kafkalite.control.faults.book import described
from kafkalite.control.faults.rule import Action, Rule, When

SWEEP: Final = "sweep"
MOST_POSITIONS: Final = 300
_COUNT: Final = Action(count=True)

Outcome = Literal["passed", "failed", "not reached"]


class NothingToSweep(Exception):
    """The run fails without any fault, or no request matches."""


# The faults of a run: numbers of the requests that match, from 1, each with its action.
Place = tuple[tuple[int, Action], ...]


@dataclass(frozen=True, slots=True)
class Position:
    """One run, with a fault, or two, at these requests."""

    place: Place
    rule: Rule
    outcome: Outcome
    why: str = ""

    @property
    def name(self) -> str:
        """The position in words: "drop after at request 3"."""
        return ", ".join(f"{described(action)} at request {n}" for n, action in self.place)

    @property
    def numbers(self) -> tuple[int, ...]:
        """The requests that meet a fault."""
        return tuple(number for number, _ in self.place)

    @property
    def line(self) -> str:
        """The rule in one line of JSON, which repeats the run."""
        return msgspec.json.encode(self.rule).decode()


@dataclass(slots=True)
class SweepReport:
    """Outcomes of all runs. `left_out` positions are beyond the limit, and were not run."""

    requests: int
    left_out: int = 0
    positions: list[Position] = field(default_factory=list[Position])

    @property
    def failed(self) -> list[Position]:
        """The positions that fail: single faults first, and of these the smallest."""
        found = [each for each in self.positions if each.outcome == "failed"]
        return sorted(found, key=lambda each: (len(each.place), each.numbers))

    def __str__(self) -> str:
        counts = [
            f"{sum(each.outcome == outcome for each in self.positions)} {outcome}"
            for outcome in ("passed", "failed", "not reached")
        ]
        lines = [f"{self.requests} requests match: {', '.join(counts)}"]
        if self.left_out:
            lines[0] += f", {self.left_out} left out by the limit"
        for each in self.failed:
            lines += [f"FAILED with {each.name}: {each.why}", f"  to repeat it: {each.line}"]
        return "\n".join(lines)


def counting_rule(when: When) -> Rule:
    """Counts the requests that match, and does nothing to them."""
    return Rule(id=SWEEP, when=when, times=None, do=(_COUNT,), optional=True)


def rule_at(when: When, place: Place) -> Rule:
    """The fault at exactly these requests that match."""
    skip = place[0][0] - 1
    if len(place) == 1:
        return Rule(id=SWEEP, when=when, skip=skip, do=(place[0][1],), optional=True)
    (first, _), (second, _) = place
    turns = tuple((action,) for _, action in place)
    return Rule(id=SWEEP, when=when, skip=skip, every=second - first, sequence=turns, optional=True)


def criteria(api: Any, when: Mapping[str, Any]) -> When:
    """Criteria as Python and the command line give them. Raises ValidationError."""
    return converted({"api": api, **when}, When)


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs of a sweep: what counts, what is done to it, with one fault at a time or with two.

    `limit` bounds the runs.
    """

    when: When
    do: Sequence[Action]
    pairs: bool = False
    limit: int = MOST_POSITIONS

    def places(self, requests: int) -> tuple[list[Place], int]:
        """The places, request by request, up to the limit, and how many are left out by it."""
        chosen = list(islice(self._all(requests), self.limit))
        total = requests * len(self.do)
        if self.pairs:
            total += requests * (requests + 1) // 2 * len(self.do) ** 2
        return chosen, total - len(chosen)

    def _all(self, requests: int) -> Iterator[Place]:
        for number, action in product(range(1, requests + 1), self.do):
            yield ((number, action),)
        if not self.pairs:
            return
        # A client asks again for an answer that was lost, so there is one request more. Neighbours
        # come first: a request and its second try.
        for apart in range(1, requests + 1):
            for number in range(1, requests + 2 - apart):
                for first, second in product(self.do, repeat=2):
                    yield ((number, first), (number + apart, second))


def sweep(
    new_cluster: Callable[[], AbstractContextManager[Kit]],
    run: Callable[[Kit, str], str | None],
    plan: Plan,
    *,
    jobs: int = 1,
    tell: Callable[[int, int], None] = lambda done, total: None,
) -> SweepReport:
    """Run something at all positions, `jobs` of them at a time.

    `run(kit, name)` says why it fails, None if it passes. `tell` is called with the number of runs
    that are done, and of all. Raises NothingToSweep.
    """
    with new_cluster() as kit:
        kit.ask("faults.add", **fields_of(counting_rule(plan.when)))
        why = run(kit, "without a fault")
        requests = kit.ask("faults.show", fault=SWEEP).matched
    if why is not None:
        raise NothingToSweep(f"it fails without a fault: {why}")
    if not requests:
        raise NothingToSweep("no request matches: there is nothing to lose")
    places, left_out = plan.places(requests)
    report = SweepReport(requests, left_out)

    def run_at(place: Place) -> Position:
        rule = rule_at(plan.when, place)
        with new_cluster() as kit:
            kit.ask("faults.add", **fields_of(rule))
            why = run(kit, " ".join(f"{described(action)} {n}" for n, action in place))
            applied = kit.ask("faults.show", fault=SWEEP).applied
        return position(place, rule, why, applied)

    pool = ThreadPoolExecutor(jobs)
    try:
        for found in pool.map(run_at, places):
            report.positions.append(found)
            tell(len(report.positions), len(places))
    finally:
        pool.shutdown(cancel_futures=True)  # after Ctrl-C no other run begins
    return report


def position(place: Place, rule: Rule, why: str | None, applied: int) -> Position:
    """A run as it came out, with so many faults. One that fails without is a failure, too."""
    was_reached = applied == len(place)
    if why is not None:
        why = why if was_reached else f"{why} (the fault was not reached)"
        return Position(place, rule, "failed", why)
    return Position(place, rule, "passed" if was_reached else "not reached")
