"""Deadlines by the thousand, of which most are put off before they fall due.

A member's session is put off by each of its heartbeats, so putting off costs one assignment: the
heap keeps the earlier time, and a timer that comes up before its deadline is queued again. This
module knows no clock but the one it is given, and never sleeps; the owner of a `Timers` calls
`expire_due` when `next_time` has come.
"""

import heapq
import logging
import math
from collections.abc import Callable
from itertools import count

from kafkalite.log.said_once import SaidOnce

logger = logging.getLogger(__name__)

NEVER = math.inf
# The deadline of a timer while it expires.
_EXPIRING = -math.inf

# A timer that failed expires again after this: its log could not be written, say. Source: the retry
# backoff of Kafka's CoordinatorTimer.
RETRY_SECONDS = 0.5


class Timer:
    """One deadline that can be set again and again; `expire` is called when it passes."""

    __slots__ = ("deadline", "expire", "queued_for")

    def __init__(self, expire: Callable[[], None]) -> None:
        self.expire = expire
        self.deadline = NEVER
        self.queued_for = NEVER

    def cancel(self) -> None:
        """Never expire, unless set again."""
        self.deadline = NEVER

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
        self._sequence = count()
        self._trouble = SaidOnce("a timer", logger)

    def set(self, timer: Timer, delay: float) -> None:
        """Let `timer` expire `delay` seconds from now, and at no other time."""
        timer.deadline = deadline = self.clock() + delay
        if deadline < timer.queued_for:
            self._push(timer)
            if self._queue[0][2] is timer:
                self._on_sooner()

    def next_time(self) -> float:
        """The time to call `expire_due` next, on the clock's scale; `inf` for never."""
        return self._queue[0][0] if self._queue else NEVER

    def expire_due(self) -> None:
        """Expire, in order of their deadlines, the timers whose deadlines have passed."""
        now = self.clock()
        while self._queue and self._queue[0][0] <= now:
            queued_for, _, timer = heapq.heappop(self._queue)
            if queued_for != timer.queued_for:
                continue  # it was set to an earlier time meanwhile, and has been queued for that
            timer.queued_for = NEVER
            if timer.deadline <= now:
                self._expire(timer)
            elif timer.deadline != NEVER:
                self._push(timer)

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
        timer.queued_for = timer.deadline
        heapq.heappush(self._queue, (timer.deadline, next(self._sequence), timer))
