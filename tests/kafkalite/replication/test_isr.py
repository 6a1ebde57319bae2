"""The in-sync replicas count both ways while a change of them is under way."""

from __future__ import annotations

import pytest

from kafkalite.replication.isr import VERDICTS, InSyncReplicas, Proposal, Verdict
from kafkalite.wire.errors import ErrorCode
from tests.each import for_each


def proposed(replicas: list[int]) -> InSyncReplicas:
    in_sync = InSyncReplicas([1, 2], 5)
    in_sync.propose(replicas)
    return in_sync


@pytest.mark.parametrize(("replicas", "maximal"), [([1, 2, 3], {1, 2, 3}), ([1], {1, 2})])
def test_the_larger_set_counts_until_it_is_decided(replicas: list[int], maximal: set[int]) -> None:
    in_sync = proposed(replicas)
    assert in_sync.maximal == maximal
    in_sync.commit(replicas, 6)
    assert in_sync.maximal == set(replicas)
    assert in_sync.is_settled


def test_a_proposal_is_in_ascending_order() -> None:
    """Kafka's leaders propose so, and the metadata keep the order."""
    assert proposed([3, 1, 2]).proposed == [1, 2, 3]


def test_one_proposal_at_a_time() -> None:
    with pytest.raises(ValueError, match="cannot become"):
        proposed([1, 2, 3]).propose([1])


@for_each(list(ErrorCode))
def test_an_error_leaves_what_it_must(code: ErrorCode) -> None:
    in_sync = proposed([1])
    verdict = in_sync.refuse(code)
    assert verdict is VERDICTS.get(code, Verdict.AGAIN)
    after = {
        Verdict.WITHDRAW: Proposal.COMMITTED,
        Verdict.WAIT: Proposal.UNCLEAR,
        Verdict.AGAIN: Proposal.PENDING,
    }
    assert in_sync.proposal is after[verdict]
    # Only the controllers' word makes the old set the true one again.
    assert in_sync.maximal == {1, 2}


def test_the_metadata_end_what_is_unclear() -> None:
    in_sync = proposed([1, 2, 3])
    in_sync.refuse(ErrorCode.NEW_LEADER_ELECTED)
    in_sync.commit([1, 2], 6)
    assert (in_sync.committed, in_sync.maximal, in_sync.is_settled) == ([1, 2], {1, 2}, True)
