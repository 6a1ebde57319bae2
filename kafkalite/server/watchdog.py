"""The longest time for which anything held the loop: turns of the loop, steps of trio's tasks.

Nothing may hold the loop for longer than 20 ms. Two clocks are read: the wall's, which other
processes' work is part of, too, and the thread's own, which counts work only, and no disk.
"""

from __future__ import annotations

from math import inf
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Final

from kafkalite.log.loggers import logger_of

if TYPE_CHECKING:
    from trio.lowlevel import Task

logger = logger_of(__name__)

# Longer turns than this are looked at.
LONG_SECONDS: Final = 0.02
# The thread's clock costs a system call: it is read at most so often, and this much too early.
_SAMPLE_SECONDS: Final = 0.001


class Watchdog:
    """Measures what runs between `begin` and `end`; as trio's instrument, each step of each task.

    `longest_seconds` and `longest_work_seconds` are on the wall's clock and on the thread's own,
    `longest` names what took the longest on the former. What takes too long is logged (DEBUG).
    """

    def __init__(self) -> None:
        self.longest_seconds = 0.0
        self.longest_work_seconds = 0.0
        self.longest = ""
        self._began = inf
        self._sampled_at = -inf
        self._worked = 0.0

    def begin(self, now: float) -> None:
        """`now` is in seconds of perf_counter."""
        self._began = now
        if now - self._sampled_at > _SAMPLE_SECONDS:
            self._sampled_at = now
            self._worked = thread_time()

    @property
    def is_late(self) -> bool:
        """True if what began has taken too long by now: `end` is to be told its name."""
        return perf_counter() - self._began > LONG_SECONDS

    def end(self, name: str) -> None:
        """Note that something is over that has taken too long."""
        seconds = perf_counter() - self._began
        worked = thread_time() - self._worked
        self._sampled_at = -inf
        if seconds > self.longest_seconds:
            self.longest_seconds, self.longest = seconds, name
        self.longest_work_seconds = max(self.longest_work_seconds, worked)
        logger.debug(
            "the loop was held for %.0f ms (%.0f ms of work) by %s",
            seconds * 1000,
            worked * 1000,
            name,
            extra={"held_seconds": seconds, "worked_seconds": worked, "held_by": name},
        )

    def before_task_step(self, task: Task) -> None:
        self.begin(perf_counter())

    def after_task_step(self, task: Task) -> None:
        if self.is_late:
            self.end(task.name)
