"""Share coordinators of three brokers under faults; and faults planted in the rules.

KAFKALITE_STEPS=1000000 pytest tests/kafkalite/coordinators/test_share_simulation.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kafkalite.coordinators.share_coordinator.coordinator import ShareCoordinator
from kafkalite.coordinators.standing import Standing
from kafkalite.server import coordinator_refusals, linger_gate
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.coordinators.share_simulation import LingeringSimulation, ShareSimulation
from tests.kafkalite.replication.simulation import (
    STEPS_PER_SEED,
    Mutant,
    each_of,
    seeds,
    shows_a_violation,
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ShareSimulation, LingeringSimulation])
@pytest.mark.parametrize("seed", seeds(3000))
def test_no_state_goes_back(tmp_path: Path, seed: int, kind: type[ShareSimulation]) -> None:
    done = kind(tmp_path, seed, STEPS_PER_SEED).run()
    assert done.write_count > 50
    assert done.read_count > 50
    assert done.fault_count >= 5


def it_answers_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Standing, "verdict", ErrorCode.NONE)


def what_is_shown_does_not_wait(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(coordinator_refusals.GUARDS, ApiKey.READ_SHARE_GROUP_STATE_SUMMARY)


def it_keeps_what_it_knew(patch: pytest.MonkeyPatch) -> None:
    def shard(self: Any, index: int) -> Any:
        if index not in self._shards:
            return found(self, index)
        self._shards[index].leader_epoch = self.log.partition(index).leader_epoch
        return self._shards[index]

    found = ShareCoordinator._shard
    patch.setattr(ShareCoordinator, "_shard", shard)


def it_serves_while_it_loads(patch: pytest.MonkeyPatch) -> None:
    def shard(self: Any, index: int) -> Any:
        loading = self._shards.get(index)
        if loading is not None and self._is_led(index, loading):
            return loading
        return found(self, index)

    found = ShareCoordinator._shard
    patch.setattr(ShareCoordinator, "_shard", shard)


@pytest.mark.slow
# Each with a seed that showed it once, and is tried first: it need not be the one that does today.
@each_of(
    (it_answers_at_once, 0),
    (what_is_shown_does_not_wait, 1),
    (it_keeps_what_it_knew, 0),
    (it_serves_while_it_loads, 0),
)
def test_a_wrong_rule_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutant: Mutant, likely: int
) -> None:
    mutant(monkeypatch)
    assert shows_a_violation(ShareSimulation, tmp_path, likely)


@pytest.mark.slow
def test_answers_that_do_not_wait_for_what_lingers_are_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for which in ("_WRITES", "_TELLS"):
        monkeypatch.setattr(linger_gate, which, frozenset())
    assert shows_a_violation(LingeringSimulation, tmp_path, 0)
