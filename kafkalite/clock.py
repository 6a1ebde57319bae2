"""The clock of a broker. There are three kinds of time:

    A  what is written, and compared with what was written: timestamps, retention, timeouts of
       transactions, expiry of offsets and producers          `now_ms`
    B  how long silence may last: sessions and deadlines of members,
       acquisition locks of share groups                         `time`
    C  what a living client waits for: long polls, delays, joins; and the housekeeping of sockets

A and B belong to the broker's clock, which tests may set (control/clock.py). C is trio's,
always: a client measures with a clock of its own, and would hang where a broker's time stood
still.
"""

from __future__ import annotations

from collections.abc import Callable
from time import time_ns
from typing import Protocol

import trio


def wall_clock_ms() -> int:
    """Milliseconds since the epoch: what is written into records."""
    return time_ns() // 1_000_000


class Clock(Protocol):
    """The time of one broker."""

    @property
    def now_ms(self) -> Callable[[], int]:
        """Kind A, in milliseconds since the epoch. The function stays the same one."""
        ...

    @property
    def time(self) -> Callable[[], float]:
        """Kind B, in seconds; never goes back."""
        ...

    def trio_deadline(self, at: float) -> float:
        """The time of trio's clock at which kind B is at `at`; infinity while it stands still."""
        ...

    def subscribe(self, changed: Callable[[], None]) -> None:
        """Call `changed` after the clock was set, stopped or started."""
        ...


class SystemClock:
    """The machine's clock, which is never set."""

    def __init__(
        self, now_ms: Callable[[], int] = wall_clock_ms, seconds: Callable[[], float] | None = None
    ) -> None:
        self.now_ms = now_ms
        self.time = trio.current_time if seconds is None else seconds

    def trio_deadline(self, at: float) -> float:
        """The same: kind B is trio's time here."""
        return at

    def subscribe(self, changed: Callable[[], None]) -> None:
        """Nothing ever changes."""
