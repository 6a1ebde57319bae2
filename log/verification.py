"""Transactions whose partition was verified with their coordinator, before the first append
(KIP-890).

Source: Kafka's VerificationStateEntry, ProducerStateManager.
"""

from __future__ import annotations

from dataclasses import dataclass


class VerificationGuard:
    """Proof that a transaction's partition was verified with its coordinator: compared by identity.

    A fresh one for each verification, so that an answer that comes late, after the transaction was
    aborted and the next begun, does not count (KIP-890).
    """

    __slots__ = ()


@dataclass(slots=True)
class VerificationState:
    """A verification under way or done, not yet used by an append."""

    guard: VerificationGuard
    timestamp_ms: int
    lowest_sequence: int
    epoch: int
    supports_epoch_bump: bool


class Verifications:
    """The verifications of one log, by producer id. An append that uses one ends it."""

    def __init__(self) -> None:
        self._states: dict[int, VerificationState] = {}

    def __len__(self) -> int:
        return len(self._states)

    def get(self, producer_id: int) -> VerificationState | None:
        return self._states.get(producer_id)

    def start(
        self, producer_id: int, sequence: int, epoch: int, *, supports_epoch_bump: bool, now_ms: int
    ) -> VerificationGuard:
        """A guard to get verified and then append with; the same one while that lasts."""
        state = self._states.get(producer_id)
        if state is None:
            state = VerificationState(
                VerificationGuard(), now_ms, sequence, epoch, supports_epoch_bump
            )
            self._states[producer_id] = state
        elif epoch > state.epoch:
            state.epoch, state.lowest_sequence = epoch, sequence
        elif epoch == state.epoch:
            state.lowest_sequence = min(state.lowest_sequence, sequence)
        return state.guard

    def is_guard(self, producer_id: int, guard: VerificationGuard | None) -> bool:
        """True if `guard` is the one of the verification under way."""
        state = self._states.get(producer_id)
        return state is not None and guard is state.guard

    def end(self, producer_id: int) -> None:
        self._states.pop(producer_id, None)

    def remove_expired(self, now_ms: int, expiration_ms: int) -> None:
        self._states = {
            producer_id: state
            for producer_id, state in self._states.items()
            if now_ms - state.timestamp_ms < expiration_ms
        }
