"""Transaction coordinators of three brokers under faults; and faults planted in the rules.

KAFKALITE_STEPS=1000000 pytest tests/kafkalite/coordinators/test_transaction_simulation.py
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.apis import write_txn_markers
from kafkalite.coordinators.standing import Standing
from kafkalite.coordinators.transaction_coordinator.coordinator import TransactionCoordinator
from kafkalite.server import coordinator_refusals
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.coordinators.transaction_simulation import TransactionSimulation
from tests.kafkalite.replication.simulation import (
    STEPS_PER_SEED,
    Mutant,
    each_of,
    seeds,
    shows_a_violation,
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(3000))
def test_transactions_are_seen_whole_or_not_at_all(tmp_path: Path, seed: int) -> None:
    # Few transactions end while brokers are killed: some runs of half the length saw three.
    done = TransactionSimulation(tmp_path, seed, 2 * STEPS_PER_SEED).run()
    assert isinstance(done, TransactionSimulation)
    assert len(done.committed) > 3
    assert len(done.aborted) > 3
    assert done.fault_count >= 5


def it_answers_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.delitem(coordinator_refusals.GUARDS, ApiKey.END_TXN)


def markers_do_not_wait_for_the_decision(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Standing, "verdict", ErrorCode.NONE)


def markers_do_not_wait_for_their_replicas(patch: pytest.MonkeyPatch) -> None:
    async def at_once(*arguments: object) -> None:
        pass

    patch.setattr(write_txn_markers, "_until_replicated", at_once)


def what_was_ending_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TransactionCoordinator, "_loaded", lambda self, transaction: None)


@pytest.mark.slow
@each_of(
    (it_answers_at_once, 0),
    (markers_do_not_wait_for_the_decision, 3),
    (markers_do_not_wait_for_their_replicas, 11),
    (what_was_ending_is_forgotten, 10),
)
def test_a_wrong_rule_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutant: Mutant, likely: int
) -> None:
    mutant(monkeypatch)
    assert shows_a_violation(TransactionSimulation, tmp_path, likely)
