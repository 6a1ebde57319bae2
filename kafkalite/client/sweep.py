"""A sweep: something is run once for each request whose answer can be lost, and must pass.

A first run counts the requests that match, and must pass as well. Then comes a run for each of them
in a cluster of its own, with a fault at exactly this request. Runs differ: where fewer requests
come, the fault is not reached, and nothing is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class Position:
    """One run: the fault came at the `number`-th request that matched, from 1."""

    number: int
    action: Action
    rule: Rule
    outcome: Outcome
    why: str = ""

    @property
    def name(self) -> str:
        """The position in words: "drop after at request 3"."""
        return f"{described(self.action)} at request {self.number}"

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
        """The positions that fail, the smallest first."""
        found = [each for each in self.positions if each.outcome == "failed"]
        return sorted(found, key=lambda each: each.number)

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


def rule_at(when: When, action: Action, number: int) -> Rule:
    """The fault at the `number`-th request that matches."""
    return Rule(id=SWEEP, when=when, skip=number - 1, do=(action,), optional=True)


def criteria(api: Any, when: Mapping[str, Any]) -> When:
    """Criteria as Python and the command line give them. Raises ValidationError."""
    return converted({"api": api, **when}, When)


def positions_of(requests: int, limit: int, actions: Sequence[Action]) -> list[tuple[int, Action]]:
    """Numbers of requests with actions, request by request, up to the limit."""
    everything = [(number, action) for number in range(1, requests + 1) for action in actions]
    return everything[:limit]


def sweep(
    new_cluster: Callable[[], AbstractContextManager[Kit]],
    run: Callable[[Kit, str], str | None],
    when: When,
    do: Sequence[Action],
    limit: int = MOST_POSITIONS,
) -> SweepReport:
    """Run something at all positions. `run(kit, name)` says why it fails, None if it passes.

    Raises NothingToSweep.
    """
    with new_cluster() as kit:
        kit.ask("faults.add", **fields_of(counting_rule(when)))
        why = run(kit, "without a fault")
        requests = kit.ask("faults.show", fault=SWEEP).matched
    if why is not None:
        raise NothingToSweep(f"it fails without a fault: {why}")
    if not requests:
        raise NothingToSweep("no request matches: there is nothing to lose")
    chosen = positions_of(requests, limit, do)
    report = SweepReport(requests, requests * len(do) - len(chosen))
    for number, action in chosen:
        rule = rule_at(when, action, number)
        with new_cluster() as kit:
            kit.ask("faults.add", **fields_of(rule))
            why = run(kit, f"{described(action)} {number}")
            was_reached = kit.ask("faults.show", fault=SWEEP).applied > 0
        report.positions.append(position(number, action, rule, why, was_reached=was_reached))
    return report


def position(
    number: int, action: Action, rule: Rule, why: str | None, *, was_reached: bool
) -> Position:
    """A run as it came out. One that fails without its fault is a failure all the same."""
    if why is not None:
        why = why if was_reached else f"{why} (the fault was not reached)"
        return Position(number, action, rule, "failed", why)
    return Position(number, action, rule, "passed" if was_reached else "not reached")
