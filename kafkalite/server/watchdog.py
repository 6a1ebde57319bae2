"""The longest time for which anything held the loop: turns of the loop, steps of trio's tasks.

Nothing may hold the loop for longer than 20 ms. Two clocks are read: the wall's, which other
processes' work is part of, too, and the thread's own, which counts work only, and no disk.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Final

import trio

if TYPE_CHECKING:
    from trio.lowlevel import Task

logger = logging.getLogger(__name__)

# Longer turns than this are looked at.
LONG_SECONDS: Final = 0.02
# The thread's clock costs a system call: it is read at most so often, and this much too early.
_SAMPLE_SECONDS: Final = 0.001


class Watchdog(trio.abc.Instrument):
    """Measures what runs between `begin` and `end`; as an instrument, each step of each task.

    `longest_seconds` and `longest_work_seconds` are on the wall's clock and on the thread's own,
    `longest` names what took the longest on the former. What takes too long is logged (DEBUG).
    """

    def __init__(self) -> None:
        self.longest_seconds = 0.0
        self.longest_work_seconds = 0.0
        self.longest = ""
        self._began = float("inf")
        self._sampled_at = float("-inf")
        self._worked = 0.0

    def begin(self) -> None:
        self._began = now = perf_counter()
        if now - self._sampled_at > _SAMPLE_SECONDS:
            self._sampled_at = now
            self._worked = thread_time()

    def end(self, name: Callable[[], str]) -> None:
        """Note that it is over. `name` names it, and is asked only if it was long."""
        seconds = perf_counter() - self._began
        if seconds > LONG_SECONDS:
            self._was_long(seconds, name())

    def _was_long(self, seconds: float, name: str) -> None:
        worked = thread_time() - self._worked
        self._sampled_at = float("-inf")
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
        self.begin()

    def after_task_step(self, task: Task) -> None:
        self.end(lambda: task.name)
