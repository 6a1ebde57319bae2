"""Work of the group coordinator that is too long for one turn of the loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from typing import TYPE_CHECKING, TypeVar

import trio

from kafkalite.requests.slices import in_slices_of_task

if TYPE_CHECKING:
    from kafkalite.requests.slices import Steps

T = TypeVar("T")


class LongWork:
    """What was started is done in a task, one after the other."""

    def __init__(self) -> None:
        self._send, self._receive = trio.open_memory_channel[Callable[[], Awaitable[None]]](inf)

    async def run(self) -> None:
        """Do what is started, for ever."""
        async for work in self._receive:
            await work()

    def start(self, work: Callable[[], Awaitable[None]]) -> None:
        self._send.send_nowait(work)

    async def in_slices(self, steps: Steps[T]) -> T:
        """The result of steps that are taken in the caller's task."""
        return await in_slices_of_task(steps)
