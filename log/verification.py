"""Verification of a transaction's partition with its coordinator (KIP-890).

It comes before the first append. Source: Kafka's VerificationStateEntry, ProducerStateManager.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

# Verifications that are looked at in one step.
_AT_ONCE: Final = 256


class VerificationGuard:
    """Proof that a transaction's partition was verified with its coordinator.

    Guards are compared by identity, and each verification has its own. So a late response, after
    the transaction was aborted and the next began, proves nothing (KIP-890).
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
        """A guard to verify and then append with; the same one while the verification lasts."""
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

    def remove_expired(self, now_ms: int, expiration_ms: int) -> Iterator[None]:
        """Forget those that began so long ago. Others may change them between two steps."""
        for number, producer_id in enumerate(list(self._states), 1):
            state = self._states.get(producer_id)
            if state is not None and now_ms - state.timestamp_ms >= expiration_ms:
                del self._states[producer_id]
            if number % _AT_ONCE == 0:
                yield
