"""Coordinators load the partitions they are elected for, one after the other, in slices.

Their clients hear COORDINATOR_LOAD_IN_PROGRESS meanwhile, and others are served. Source:
CoordinatorRuntime.scheduleLoadOperation.
"""

from __future__ import annotations

from math import inf

import trio

from kafkalite.requests.slices import WaitingSteps, in_slices_of_task


class Loader:
    """The partitions that wait to be loaded; `run` is its task."""

    def __init__(self) -> None:
        self._send, self._receive = trio.open_memory_channel[WaitingSteps[None]](inf)

    def load(self, steps: WaitingSteps[None]) -> None:
        """Take these steps after those of partitions that wait already."""
        self._send.send_nowait(steps)

    async def run(self) -> None:
        """Load for ever."""
        async for steps in self._receive:
            await in_slices_of_task(steps)
