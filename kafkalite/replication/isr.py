"""The in-sync replicas as their leader knows them, and what it proposes to make of them.

Only the controllers change them. From the moment that a change is asked for until its outcome is
known, both the old and the new set count: the maximal in-sync replicas. So what was acknowledged is
on all of whichever set the controllers will take for the true one (KIP-497).

    COMMITTED --propose--> PENDING --accepted, or metadata--> COMMITTED
                              |------withdrawn--------------> COMMITTED
                              |------unclear--> UNCLEAR ----> COMMITTED with the next metadata

Source: Partition.handleAlterPartitionUpdate and handleAlterPartitionError.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from kafkalite.wire.errors import ErrorCode


class Proposal(Enum):
    """The fate of a change that was asked for."""

    COMMITTED = "none is under way"
    PENDING = "asked for"
    UNCLEAR = "refused: the metadata will say what is true"


TRANSITIONS: Final[Mapping[Proposal, frozenset[Proposal]]] = {
    Proposal.COMMITTED: frozenset({Proposal.PENDING}),
    Proposal.PENDING: frozenset({Proposal.COMMITTED, Proposal.UNCLEAR}),
    Proposal.UNCLEAR: frozenset({Proposal.COMMITTED}),
}


class Verdict(Enum):
    """The consequence of an error in the answer to AlterPartition."""

    WITHDRAW = "the change is off, the old set is the true one"
    WAIT = "the controllers know newer metadata, which will come"
    AGAIN = "nothing was decided"


VERDICTS: Final[Mapping[ErrorCode, Verdict]] = {
    ErrorCode.OPERATION_NOT_ATTEMPTED: Verdict.WITHDRAW,
    ErrorCode.INELIGIBLE_REPLICA: Verdict.WITHDRAW,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Verdict.WAIT,
    ErrorCode.UNKNOWN_TOPIC_ID: Verdict.WAIT,
    ErrorCode.FENCED_LEADER_EPOCH: Verdict.WAIT,
    ErrorCode.INVALID_UPDATE_VERSION: Verdict.WAIT,
    ErrorCode.INVALID_REQUEST: Verdict.WAIT,
    # This tells the leader that its proposal completed a reassignment to another leader.
    ErrorCode.NEW_LEADER_ELECTED: Verdict.WAIT,
}


class InSyncReplicas:
    """The committed set with its partition epoch, and one proposal at a time."""

    def __init__(self, committed: Sequence[int], partition_epoch: int) -> None:
        self.committed = list(committed)
        self.partition_epoch = partition_epoch
        self.proposed: list[int] = []
        self.proposal = Proposal.COMMITTED

    @property
    def maximal(self) -> set[int]:
        """Every replica that may be in sync by what the controllers know."""
        return {*self.committed, *self.proposed}

    @property
    def is_settled(self) -> bool:
        """True if a change may be proposed."""
        return self.proposal is Proposal.COMMITTED

    def propose(self, replicas: Sequence[int]) -> None:
        """Ask for this set. Only where `is_settled`.

        It is in ascending order: Kafka's leaders have a HashSet, and the metadata keep its order.
        """
        self._become(Proposal.PENDING)
        self.proposed = sorted(replicas)

    def commit(self, replicas: Sequence[int], partition_epoch: int) -> None:
        """The controllers' word: an answer, or the metadata. It ends what is under way."""
        self.committed = list(replicas)
        self.partition_epoch = partition_epoch
        self._settle()

    def refuse(self, code: ErrorCode) -> Verdict:
        """Take in an error. AGAIN leaves the proposal as it is, to be sent once more."""
        verdict = VERDICTS.get(code, Verdict.AGAIN)
        if verdict is Verdict.WITHDRAW:
            self._settle()
        elif verdict is Verdict.WAIT:
            self._become(Proposal.UNCLEAR)
        return verdict

    def _settle(self) -> None:
        self.proposed = []
        if not self.is_settled:
            self._become(Proposal.COMMITTED)

    def _become(self, proposal: Proposal) -> None:
        if proposal not in TRANSITIONS[self.proposal]:
            raise ValueError(f"{self.proposal} cannot become {proposal}")
        self.proposal = proposal
