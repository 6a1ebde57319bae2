"""A watchdog for every test of the broker: nothing may hold the loop for long.

Only the thread's own time counts, as it would be on a core that nobody else uses. Linux counts as
the thread's own what the hypervisor of a virtual machine took from it: so much longer is allowed,
too. So are full collections of garbage, which go through what the test has made: a broker's own
process keeps them short (kafkalite/server/collector.py), as the conformance tests see.
"""

from __future__ import annotations

import gc
import logging
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from threading import get_ident
from time import sleep, thread_time
from typing import Final

import pytest
import trio
from trio.lowlevel import Task

from conformance.soak.speed import slowness
from conformance.soak.stolen_time import LATE_SECONDS, StolenTime
from kafkalite.server import watchdog
from kafkalite.server.connections import Connections
from kafkalite.server.watchdog import LONG_SECONDS, Watchdog

_FULL: Final = 2
# The test itself, and the opening of a broker: it serves nobody then.
NOT_SERVING = ("tests.", "kafkalite.testing.")
# The tasks of a broker: a connection of an HTTP server has the name of trio's own.
BROKERS = ("kafkalite.", "trio._highlevel_serve_listeners.")


class BrokerTasks(trio.abc.Instrument):
    """Measures the steps of the broker's tasks in a test's own trio, and leaves out the test's."""

    def __init__(self) -> None:
        self._watchdog = Watchdog()

    def before_task_step(self, task: Task) -> None:
        if task.name.startswith(BROKERS):
            self._watchdog.before_task_step(task)

    def after_task_step(self, task: Task) -> None:
        if task.name.startswith(BROKERS):
            self._watchdog.after_task_step(task)


class FullCollections:
    """The time that each thread has spent on full collections of garbage."""

    def __init__(self) -> None:
        self._began = 0.0
        self._over: deque[tuple[int, float, float]] = deque(maxlen=1000)

    def see(self, phase: str, info: dict[str, int]) -> None:
        """A callback of the collector's (gc.callbacks)."""
        if info["generation"] != _FULL:
            return
        now = thread_time()
        if phase == "start":
            self._began = now
        else:
            self._over.append((get_ident(), now, now - self._began))

    def seconds_since(self, began: float) -> float:
        """The time on those of this thread since its own time `began`."""
        own = get_ident()
        return sum(took for ident, now, took in self._over if ident == own and now > began)


class Held(logging.Filter):
    """Collects what a watchdog has to say, and keeps it out of the log."""

    def __init__(self, collections: FullCollections) -> None:
        super().__init__()
        self.by: list[str] = []
        self._collections = collections
        self._stolen = StolenTime()
        self._found: list[tuple[float, str]] = []

    def filter(self, record: logging.LogRecord) -> bool:
        seconds, name = vars(record)["worked_seconds"], vars(record)["held_by"]
        own = seconds - self._collections.seconds_since(thread_time() - seconds)
        if not name.startswith(NOT_SERVING) and own > LONG_SECONDS:
            self._found.append((own, name))
        return False

    def judge(self) -> None:
        """Say what was found, once the clock has been told of all that was taken."""
        if self._found:
            sleep(LATE_SECONDS)
            most = LONG_SECONDS * slowness() + self._stolen.seconds()
            found = [(own, name) for own, name in self._found if own > most]
            self.by += [f"{own * 1000:.0f} ms of work by {name}" for own, name in found]


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Generator[list[str]]:
    """Yields the names of what holds the loop of any broker that runs meanwhile."""
    serve = Connections.serve

    async def watched_serve(self: Connections) -> None:
        if not self.loop.is_hosted:
            trio.lowlevel.add_instrument(BrokerTasks())
        await serve(self)

    monkeypatch.setattr(Connections, "serve", watched_serve)
    collections = FullCollections()
    held, logger = Held(collections), watchdog.logger
    gc.callbacks.append(collections.see)
    logger.setLevel(logging.DEBUG)
    logger.addFilter(held)
    try:
        yield held.by
    finally:
        gc.callbacks.remove(collections.see)
        logger.removeFilter(held)
        logger.setLevel(logging.NOTSET)
        held.judge()
