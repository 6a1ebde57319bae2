"""A cluster's clock that can be set: kinds A and B of clock.py; kind C is real, whatever happens
here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import trio

from kafkalite.clock import wall_clock_ms


class ClusterClock:
    """Runs with the machine's clock until it is advanced, frozen or skewed.

    Kind B never goes back: `reset` sets kind A right and leaves the seconds as they are.
    """

    def __init__(self) -> None:
        self._ahead_ms = 0
        self._ahead_seconds = 0.0
        self._skew_ms = 0
        # Kind A is whole milliseconds. Deadlines are not: a jump of many steps stays exact.
        self._left_over_ms = 0.0
        self._stands_at: tuple[int, float] | None = None
        self._subscribers: list[Callable[[], None]] = []
        self.jump: Final = trio.StrictFIFOLock()
        """Held while time jumps, which takes several turns: there is one jump at a time."""

    def now_ms(self) -> int:
        """Kind A: milliseconds since the epoch."""
        stands_at = self._stands_at
        now_ms = wall_clock_ms() + self._ahead_ms if stands_at is None else stands_at[0]
        return now_ms + self._skew_ms

    def time(self) -> float:
        """Kind B: seconds that never go back."""
        if self._stands_at is not None:
            return self._stands_at[1]
        return trio.current_time() + self._ahead_seconds

    def trio_deadline(self, at: float) -> float:
        """The time of trio's clock at which this one is at `at`; infinity while it stands still."""
        return math.inf if self._stands_at is not None else at - self._ahead_seconds

    def begin_at(self, now_ms: int) -> None:
        """Run from this time on. Only kind A is moved: a broker that begins has no deadlines."""
        self._ahead_ms = now_ms - wall_clock_ms()

    def subscribe(self, changed: Callable[[], None]) -> None:
        """Call `changed` after the clock was set, stopped or started."""
        self._subscribers.append(changed)

    def forget_subscribers(self) -> None:
        """The broker that used the clock is gone; another one may use it."""
        self._subscribers.clear()

    @property
    def is_frozen(self) -> bool:
        """Tells whether it stands still."""
        return self._stands_at is not None

    @property
    def skew_ms(self) -> int:
        """Says how far what is written is off, beside what the clock was advanced by."""
        return self._skew_ms

    @property
    def ahead_ms(self) -> int:
        """Says how far the clock is ahead of the machine's; negative after a long freeze."""
        stands_at = self._stands_at
        return self._ahead_ms if stands_at is None else stands_at[0] - wall_clock_ms()

    def forward(self, seconds: float) -> None:
        """Move kinds A and B on, frozen or not, and tell."""
        self.step(seconds)
        self._tell()

    def step(self, seconds: float) -> None:
        """Move on within a jump, of which its end is told."""
        exact_ms = seconds * 1000 + self._left_over_ms
        whole_ms = round(exact_ms)
        self._left_over_ms = exact_ms - whole_ms
        if self._stands_at is None:
            self._ahead_ms += whole_ms
            self._ahead_seconds += seconds
        else:
            now_ms, now = self._stands_at
            self._stands_at = now_ms + whole_ms, now + seconds

    def freeze(self) -> None:
        """Stand still. Frozen twice is frozen once."""
        if self._stands_at is None:
            self._stands_at = wall_clock_ms() + self._ahead_ms, self.time()
            self._tell()

    def run(self) -> None:
        """Go on from where it stands."""
        if self._stands_at is not None:
            now_ms, now = self._stands_at
            self._stands_at = None
            self._ahead_ms = now_ms - wall_clock_ms()
            self._ahead_seconds = now - trio.current_time()
            self._tell()

    def skew(self, by_ms: int) -> None:
        """Let what is written be off by so much; sessions do not notice."""
        self._skew_ms = by_ms
        self._tell()

    def reset(self) -> None:
        """Write the machine's time again, and run."""
        self.run()
        self._skew_ms = 0
        self._ahead_ms = 0
        self._left_over_ms = 0.0
        self._tell()

    def _tell(self) -> None:
        for changed in self._subscribers:
            changed()
