"""Deadlines by the thousand, of which most are put off before they fall due.

A member's session is put off by each of its heartbeats, so putting off costs one assignment: the
heap keeps the earlier time, and a timer that comes up before its deadline is queued again. A
cancelled timer stays in the heap, too, but no more than half of the heap are such. This module
knows no clock but the one it is given, and never sleeps; the owner of a `Timers` calls `expire_due`
when `next_time` has come.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from itertools import count
from typing import Final

from kafkalite.log.loggers import logger_of
from kafkalite.log.said_once import SaidOnce

logger = logger_of(__name__)

NEVER: Final = math.inf
# The deadline of a timer while it expires.
_EXPIRING: Final = -math.inf
# The owner of many timers lets others have their turn after so many, each of which may cost as much
# as a request.
AT_ONCE: Final = 16
# A heap is not looked through for fewer.
_FEW: Final = 16

# A timer that failed expires again after this: its log could not be written, say. Source: the retry
# backoff of Kafka's CoordinatorTimer.
RETRY_SECONDS: Final = 0.5


class Timer:
    """One deadline that can be set again and again; `expire` is called when it passes."""

    __slots__ = ("deadline", "expire", "queue", "queued_for")

    def __init__(self, expire: Callable[[], None]) -> None:
        self.expire = expire
        self.deadline = NEVER
        # The time of its entry in the heap of `queue`; NEVER: it has none.
        self.queued_for = NEVER
        self.queue: Timers | None = None

    def cancel(self) -> None:
        """Never expire, unless set again."""
        if self.deadline != NEVER:
            self.deadline = NEVER
            if self.queue is not None and self.queued_for != NEVER:
                self.queue.note_useless()

    def close(self) -> None:
        """Never expire, and let go of the function that expiry would call."""
        self.expire = _nothing
        self.cancel()

    @property
    def is_set(self) -> bool:
        return NEVER > self.deadline > _EXPIRING


class Timers:
    """All timers of one coordinator.

    `clock` returns seconds and never goes back. `on_sooner` is called when the next time to look
    has moved forward, so that a sleeper can be woken.
    """

    def __init__(
        self, clock: Callable[[], float], on_sooner: Callable[[], None] = lambda: None
    ) -> None:
        self.clock = clock
        self._on_sooner = on_sooner
        self._queue: list[tuple[float, int, Timer]] = []
        # The entries of cancelled timers, and of those that were set to an earlier time meanwhile.
        self._useless_count = 0
        # Time is on its way to here, in steps. What is set meanwhile comes after that.
        self.passing_until = -math.inf
        self._sequence = count()
        self._trouble = SaidOnce("a timer", logger)

    def __len__(self) -> int:
        """The number of entries in the heap."""
        return len(self._queue)

    def set(self, timer: Timer, delay: float) -> None:
        """Let `timer` expire `delay` seconds from now, and at no other time."""
        now = self.clock()
        if now < self.passing_until:
            if timer.is_set and timer.deadline <= self.passing_until:
                return  # it expires on the way
            now = self.passing_until
        deadline = now + delay
        if timer.queued_for == NEVER:
            timer.deadline = deadline
            self._push(timer)
        else:
            if timer.deadline == NEVER:
                self._useless_count -= 1
            timer.deadline = deadline
            if deadline >= timer.queued_for:
                return
            self._push(timer)
            self.note_useless()
        if self._queue[0][2] is timer:
            self._on_sooner()

    def next_time(self) -> float:
        """The time to call `expire_due` next, on the clock's scale; `inf` for never."""
        return self._queue[0][0] if self._queue else NEVER

    def expire_due(self, most: float = math.inf) -> None:
        """Expire, in order of their deadlines, the timers whose deadlines have passed.

        No more than `most` expire; `next_time` is in the past if there are more.
        """
        now = self.clock()
        left = most
        while left > 0 and self._queue and self._queue[0][0] <= now:
            queued_for, _, timer = heapq.heappop(self._queue)
            if queued_for != timer.queued_for:
                self._useless_count -= 1
                continue  # it was set to an earlier time meanwhile, and has been queued for that
            timer.queued_for = NEVER
            if timer.deadline <= now:
                left -= 1
                self._expire(timer)
            elif timer.deadline != NEVER:
                self._push(timer)
            else:
                self._useless_count -= 1

    def note_useless(self) -> None:
        """Count an entry that is of no use. Once most are, all such entries are removed."""
        self._useless_count += 1
        if self._useless_count <= max(_FEW, len(self._queue) // 2):
            return
        kept: list[tuple[float, int, Timer]] = []
        for entry in self._queue:
            queued_for, _, timer = entry
            if queued_for != timer.queued_for:
                continue
            if timer.deadline == NEVER:
                timer.queued_for = NEVER
            else:
                kept.append(entry)
        heapq.heapify(kept)
        self._queue = kept
        self._useless_count = 0

    def _expire(self, timer: Timer) -> None:
        """Expire one timer. What fails is tried again soon, unless the timer was set or canceled
        meanwhile."""
        timer.deadline = _EXPIRING
        try:
            timer.expire()
        except Exception as error:  # noqa: BLE001 - said, and tried again
            self._trouble.failed(error)
            if timer.deadline == _EXPIRING:
                self.set(timer, RETRY_SECONDS)
        else:
            if timer.deadline == _EXPIRING:
                timer.deadline = NEVER

    def _push(self, timer: Timer) -> None:
        timer.queue = self
        timer.queued_for = timer.deadline
        heapq.heappush(self._queue, (timer.deadline, next(self._sequence), timer))


def _nothing() -> None:
    """Nothing is to be done."""
