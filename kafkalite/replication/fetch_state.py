"""One partition that is copied from its leader: what to ask for, and what an answer means.

Pure rules, with a log's numbers as arguments. A follower's log may hold what its leader's does not:
batches of a leader that is gone. The last fetched epoch in each Fetch lets the leader see that, and
it answers where to cut (KIP-101, KIP-279, KIP-595).

    FETCHING --answer--> FETCHING
       |------an error that passes--> BACKING_OFF --time--> FETCHING
       |------ours is behind, or its disk is broken--> STOPPED --metadata--> FETCHING

Source: AbstractFetcherThread.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Final

from kafkalite.wire.errors import ErrorCode

UNKNOWN_EPOCH: Final = -1
_FIRST_BACKOFF_SECONDS: Final = 0.05


class Progress(Enum):
    """True if a partition is asked for."""

    FETCHING = "asked for with the next Fetch"
    BACKING_OFF = "left out for a time"
    STOPPED = "left out until the metadata change"


TRANSITIONS: Final[Mapping[Progress, frozenset[Progress]]] = {
    Progress.FETCHING: frozenset({Progress.BACKING_OFF, Progress.STOPPED}),
    Progress.BACKING_OFF: frozenset({Progress.FETCHING, Progress.STOPPED}),
    Progress.STOPPED: frozenset({Progress.FETCHING}),
}


class FetchState:
    """The progress of one followed partition. Times in seconds."""

    def __init__(self, max_backoff_seconds: float) -> None:
        """`max_backoff_seconds` is replica.fetch.backoff.ms."""
        self.progress = Progress.FETCHING
        # Records up to the leader's high watermark that are missing here, by its last answer. None
        # before it.
        self.lag: int | None = None
        self.retry_at = 0.0
        self._max_backoff_seconds = max_backoff_seconds
        self._backoff_seconds = _FIRST_BACKOFF_SECONDS

    def is_due(self, now: float) -> bool:
        """True if it belongs into a Fetch that is sent now."""
        if self.progress is Progress.BACKING_OFF and self.retry_at <= now:
            self._become(Progress.FETCHING)
        return self.progress is Progress.FETCHING

    @property
    def is_stopped(self) -> bool:
        """True if it is asked for no more until the metadata change."""
        return self.progress is Progress.STOPPED

    def went_well(self) -> None:
        """An answer was taken in."""
        self._backoff_seconds = _FIRST_BACKOFF_SECONDS

    def back_off(self, now: float) -> None:
        """Wait, at first for a moment: metadata reach brokers at different times."""
        self.retry_at = now + self._backoff_seconds
        self._backoff_seconds = min(2 * self._backoff_seconds, self._max_backoff_seconds)
        if self.progress is Progress.FETCHING:
            self._become(Progress.BACKING_OFF)

    def stop(self) -> None:
        """Until the metadata change there is nothing to gain."""
        if self.progress is not Progress.STOPPED:
            self._become(Progress.STOPPED)

    def refused(self, code: ErrorCode, now: float) -> None:
        """The leader answered with an error, other than OFFSET_OUT_OF_RANGE."""
        # The leader has a later epoch than ours: the metadata that say so are on their way.
        if code is ErrorCode.FENCED_LEADER_EPOCH:
            self.stop()
        else:
            self.back_off(now)

    def _become(self, progress: Progress) -> None:
        if progress not in TRANSITIONS[self.progress]:
            raise ValueError(f"{self.progress} cannot become {progress}")
        self.progress = progress


def cut_offset(leader: tuple[int, int], own: tuple[int, int], log_end_offset: int) -> int:
    """The offset at which to cut a log that diverges.

    The next Fetch asks again, so that one cut need not do.

    Args:
        leader: (epoch, end offset) of the leader's largest epoch that is not above our last.
        own: the same of our largest epoch that is not above the leader's; (-1, -1) if none.
        log_end_offset: ours.
    """
    leader_epoch, leader_end = leader
    own_epoch, own_end = own
    if own_epoch == UNKNOWN_EPOCH:
        return min(leader_end, log_end_offset)
    if own_epoch != leader_epoch:
        return min(own_end, log_end_offset)
    return min(leader_end, own_end, log_end_offset)


class OutOfRange(Enum):
    """The cure for an offset that the leader does not have."""

    CUT = "cut to the leader's end"
    START_OVER = "drop everything, begin at the leader's start"
    GO_ON = "it has grown meanwhile: ask again"


def out_of_range(leader_start: int, leader_end: int, log_end_offset: int) -> OutOfRange:
    """The cure where the leader's log does not reach ours."""
    if leader_end < log_end_offset:
        return OutOfRange.CUT
    if leader_start > log_end_offset:
        return OutOfRange.START_OVER
    return OutOfRange.GO_ON
