"""A watchdog for every test of the broker: nothing may hold the loop for long.

Only the thread's own time counts, as it would be on a core that nobody else uses. Linux counts as
the thread's own what the hypervisor of a virtual machine took from it: so much longer is allowed,
too.
"""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager

import pytest
import trio
from trio.lowlevel import Task

from conformance.soak.speed import slowness
from conformance.soak.stolen_time import StolenTime
from kafkalite.server import watchdog
from kafkalite.server.connections import Connections
from kafkalite.server.watchdog import LONG_SECONDS, Watchdog

# The test itself, and the opening of a broker: it serves nobody then.
NOT_SERVING = ("tests.", "kafkalite.testing.")


class BrokerTasks(trio.abc.Instrument):
    """Measures the steps of the broker's tasks in a test's own trio, and leaves out the test's."""

    def __init__(self) -> None:
        self._watchdog = Watchdog()

    def before_task_step(self, task: Task) -> None:
        if task.name.startswith("kafkalite."):
            self._watchdog.before_task_step(task)

    def after_task_step(self, task: Task) -> None:
        if task.name.startswith("kafkalite."):
            self._watchdog.after_task_step(task)


class Held(logging.Filter):
    """Collects what a watchdog has to say, and keeps it out of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.by: list[str] = []
        self._stolen = StolenTime()

    def filter(self, record: logging.LogRecord) -> bool:
        seconds, name = vars(record)["worked_seconds"], vars(record)["held_by"]
        stolen = self._stolen.seconds()
        if name.startswith(NOT_SERVING) or seconds <= LONG_SECONDS + stolen:
            return False
        if seconds > LONG_SECONDS * slowness() + stolen:
            self.by.append(f"{seconds * 1000:.0f} ms of work by {name}")
        return False


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Generator[list[str]]:
    """Yields the names of what holds the loop of any broker that runs meanwhile."""
    serve = Connections.serve

    async def watched_serve(self: Connections) -> None:
        if not self.loop.is_hosted:
            trio.lowlevel.add_instrument(BrokerTasks())
        await serve(self)

    monkeypatch.setattr(Connections, "serve", watched_serve)
    held, logger = Held(), watchdog.logger
    logger.setLevel(logging.DEBUG)
    logger.addFilter(held)
    try:
        yield held.by
    finally:
        logger.removeFilter(held)
        logger.setLevel(logging.NOTSET)
