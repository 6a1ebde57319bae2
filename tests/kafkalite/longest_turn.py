"""The longest turn of a broker in a test's own trio: its tasks' work between two looks for events.

Only the broker's own work counts: not the test's, which reads what is answered, and not what the
hypervisor took. A pause of the garbage collector that falls into it counts, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time

import trio
from trio.lowlevel import Task

from conformance.soak.stolen_time import StolenTime
from kafkalite.server.watchdog import LONG_SECONDS
from tests.kafkalite.held_loop import BROKERS


class LongestTurn(trio.abc.Instrument):
    """`seconds` are of the thread's processor time."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._turn_seconds = 0.0
        self._began = 0.0

    def before_task_step(self, task: Task) -> None:
        self._began = thread_time()

    def after_task_step(self, task: Task) -> None:
        if task.name.startswith(BROKERS):
            self._turn_seconds += thread_time() - self._began

    def before_io_wait(self, timeout: float) -> None:
        self.seconds = max(self.seconds, self._turn_seconds)
        self._turn_seconds = 0.0


@contextmanager
def longest_turn() -> Iterator[LongestTurn]:
    """The longest turn until the end of the block; read it after that."""
    turn, stolen = LongestTurn(), StolenTime()
    trio.lowlevel.add_instrument(turn)
    try:
        yield turn
    finally:
        trio.lowlevel.remove_instrument(turn)
        turn.before_io_wait(0)
        turn.seconds = stolen.own_seconds(turn.seconds, LONG_SECONDS)
