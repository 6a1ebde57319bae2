"""A sweep of one test: it is run again and again, with all its fixtures, once for each position.

What is reported is one test: the first run if no position fails, else the smallest that does, with
a section that says what came of all of them.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from _pytest.runner import runtestprotocol

from kafkalite.client.sweep import (
    MOST_POSITIONS,
    SWEEP,
    Plan,
    SweepReport,
    counting_rule,
    criteria,
    position,
    rule_at,
)
from kafkalite.client.values import actions_of, fields_of
from kafkalite.control.faults.rule import Rule
from kafkalite.control.problems import Problem

if TYPE_CHECKING:
    from kafkalite.client.kit import Kit


@dataclass(slots=True)
class _Run:
    """One run: the rule that is put in, and what became of it."""

    rule: Rule
    matched: int = 0
    applied: int = 0
    kit: Kit | None = None


_RUN = pytest.StashKey[_Run]()


@contextmanager
def with_fault(item: pytest.Item, kit: Kit) -> Generator[None]:
    """The fault of the run, in the cluster of the test."""
    run = item.stash[_RUN]
    kit.ask("faults.add", **fields_of(run.rule))
    run.kit = kit
    yield
    run.kit = None


def note_counts(item: pytest.Item) -> None:
    """The test has been called: see how often the rule matched, before fixtures clear it away."""
    run = item.stash.get(_RUN, None)
    if run is not None and run.kit is not None:
        shown = {each.rule.id: each for each in run.kit.faults.list()}.get(SWEEP)
        if shown is not None:
            run.matched, run.applied = shown.matched, shown.applied


def run_sweep(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Run a test at all positions, and report it as one."""
    hook = item.ihook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _reports(item, nextitem):
        hook.pytest_runtest_logreport(report=report)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


def _reports(item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
    marker = item.get_closest_marker("kafkalite_sweep")
    assert marker is not None
    try:
        plan = _plan(marker)
    except (Problem, msgspec.ValidationError) as error:
        mistake = f"kafkalite_sweep: {error}"
        return [pytest.TestReport(item.nodeid, item.location, {}, "failed", mistake, "setup")]
    first, run = _once(item, counting_rule(plan.when))
    if "kafkalite" not in getattr(item, "fixturenames", ()):
        return _failed(first, "a sweep is of the cluster of the fixture kafkalite: ask for it")
    if any(report.failed or report.skipped for report in first):
        return first
    if not run.matched:
        return _failed(first, "no request matches: there is nothing to lose")
    places, left_out = plan.places(run.matched)
    sweep = SweepReport(run.matched, left_out)
    failures: list[list[pytest.TestReport]] = []
    for place in places:
        reports, run = _once(item, rule_at(plan.when, place))
        failed = next((each for each in reports if each.failed), None)
        why = None if failed is None else _last_line(failed)
        if failed is not None:
            failures.append(reports)
        sweep.positions.append(position(place, run.rule, why, run.applied))
    untyped: Any = item.session
    untyped._setupstate.teardown_exact(nextitem)  # what later tests do not need
    shown = failures[0] if failures else first
    for report in shown:
        if report.when == "call":
            report.sections.append(("kafkalite sweep", str(sweep)))
    return shown


def _plan(marker: pytest.Mark) -> Plan:
    """The runs that the marker asks for. Raises ValidationError and Problem."""
    given = dict(marker.kwargs)
    if marker.args or "do" not in given:
        raise Problem("invalid_sweep", "it needs `do`, and takes names: api=[...], do=[drop.after]")
    actions = actions_of(given.pop("do"))
    limit, pairs = given.pop("limit", MOST_POSITIONS), given.pop("pairs", False)
    if not isinstance(limit, int):
        raise Problem("invalid_sweep", f"limit is {limit!r}, which is no number")
    return Plan(criteria(given.pop("api", None), given), actions, pairs, max(0, limit))


def _once(item: pytest.Item, rule: Rule) -> tuple[list[pytest.TestReport], _Run]:
    """One run with all of the test's own fixtures; those of module and session stay."""
    run = item.stash[_RUN] = _Run(rule)
    untyped: Any = item
    untyped._initrequest()
    reports = runtestprotocol(item, log=False, nextitem=untyped.parent)
    return reports, run


def _failed(reports: list[pytest.TestReport], why: str) -> list[pytest.TestReport]:
    for report in reports:
        if report.when == "call":
            report.outcome, report.longrepr = "failed", why
    return reports


def _last_line(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    message = str(report.longrepr) if crash is None else str(crash.message)
    return message.strip().splitlines()[0] if message.strip() else "it fails"
