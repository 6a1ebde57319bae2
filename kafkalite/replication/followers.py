"""A follower as its leader knows it, from the Fetch requests that it sends.

A follower is caught up if it asked for the leader's end within replica.lag.time.max.ms. One that
asks for the end as it was at its last Fetch counts as caught up at the time of that Fetch. So a
steady stream of appends does not make a follower lag that is one request late. Source: Replica,
ReplicaState.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

UNKNOWN_OFFSET: Final = -1
ANY_BROKER_EPOCH: Final = -1
_NEVER: Final = float("-inf")


@dataclass(slots=True)
class Follower:
    """Offsets as the follower last told them; times in seconds."""

    end_offset: int = UNKNOWN_OFFSET
    log_start_offset: int = UNKNOWN_OFFSET
    broker_epoch: int = ANY_BROKER_EPOCH
    caught_up_at: float = _NEVER
    _fetched_at: float = _NEVER
    _leader_end_then: int = UNKNOWN_OFFSET

    def elected(
        self, *, is_in_sync: bool, is_new_leader: bool, leader_end: int, now: float
    ) -> None:
        """A new leader epoch begins. Who is in sync has the whole time to say so once more."""
        self.caught_up_at = now if is_in_sync else _NEVER
        if is_new_leader:
            self.end_offset = self.log_start_offset = UNKNOWN_OFFSET
            self.broker_epoch = ANY_BROKER_EPOCH
            self._leader_end_then = UNKNOWN_OFFSET
            self._fetched_at = _NEVER
        else:
            self._leader_end_then = leader_end
            self._fetched_at = self.caught_up_at

    def fetched(
        self, offset: int, log_start_offset: int, broker_epoch: int, *, leader_end: int, now: float
    ) -> None:
        """It asks for what begins at `offset`: all before it is in its log."""
        if offset >= leader_end:
            self.caught_up_at = max(self.caught_up_at, now)
        elif offset >= self._leader_end_then:
            self.caught_up_at = max(self.caught_up_at, self._fetched_at)
        self.end_offset = offset
        self.log_start_offset = log_start_offset
        self.broker_epoch = broker_epoch
        self._leader_end_then = max(leader_end, self._leader_end_then)
        self._fetched_at = now

    def is_caught_up(self, *, leader_end: int, now: float, max_lag_seconds: float) -> bool:
        """True if it may be, or stay, among the in-sync replicas."""
        return leader_end == self.end_offset or now - self.caught_up_at <= max_lag_seconds
