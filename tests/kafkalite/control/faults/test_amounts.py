"""Random delays: drawn from the rule's seed, so that a run can be repeated."""

from __future__ import annotations

import pytest

from kafkalite.control.faults.amounts import delay_seconds
from kafkalite.control.faults.book import RuleBook
from kafkalite.control.faults.rule import Action, LogNormal, Rule

ACTIONS = [Action(uniform=("10ms", "1s")), Action(lognormal=LogNormal("50ms", 0.8))]


def delays(action: Action, seed: int) -> list[float]:
    state = RuleBook(lambda: 0).add(Rule(id="slow", seed=seed, do=(action,)))
    return [delay_seconds(action, state.luck) for _ in range(20)]


@pytest.mark.parametrize("action", ACTIONS)
def test_a_seed_repeats_the_delays(action: Action) -> None:
    assert delays(action, 7) == delays(action, 7)
    assert delays(action, 7) != delays(action, 8)


def test_a_uniform_delay_keeps_its_bounds() -> None:
    assert all(0.01 <= each <= 1 for each in delays(ACTIONS[0], 3))
