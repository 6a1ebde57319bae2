"""The memory of huge requests: it is bounded, so they wait for each other, first come first served.

A request whose elements are too many to be parsed in one go may take much more memory than its
frame has bytes (`most_memory`, wire/fields.py). It is parsed and handled once there is room for
that. One that needs more than all there is has all of it to itself. Meanwhile its connection waits
as with any request that takes long; other requests take part in none of this.

A request that waits for something that others do gives its room back first (`give_back`): what it
waits for may come by a huge request, too. So nothing waits for ever, and what such requests keep
while they wait is not bounded here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Final

import trio

# The densest frame of 4 MB; or several hundred requests that are just too large for one go.
_MOST_BYTES: Final = 128 << 20


class Claim:
    """The room of one request, in bytes; 0 once it is given back."""

    __slots__ = ("_memory", "size")

    def __init__(self, memory: RequestMemory, size: int) -> None:
        self._memory = memory
        self.size = size

    def give_back(self) -> None:
        """Let others have the room. The second time does nothing."""
        size, self.size = self.size, 0
        if size:
            self._memory.returned(size)


_claim: Final = ContextVar[Claim | None]("the room of this task's request", default=None)


def give_back() -> None:
    """Called by what lets a request wait for others."""
    claim = _claim.get()
    if claim is not None:
        claim.give_back()


class RequestMemory:
    """The memory that is left for huge requests, and the requests that wait for it."""

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most = self._left = most_bytes
        self._waiting: deque[tuple[int, trio.Event]] = deque()

    @asynccontextmanager
    async def taken(self, size: int) -> AsyncGenerator[None]:
        """Wait until there is room for a request that takes `size` bytes, and keep it meanwhile."""
        claim = await self._take(min(size, self._most))
        _claim.set(claim)
        try:
            yield
        finally:
            _claim.set(None)
            claim.give_back()

    async def _take(self, size: int) -> Claim:
        if size <= self._left and not self._waiting:
            self._left -= size
            return Claim(self, size)
        turn = size, trio.Event()
        self._waiting.append(turn)
        try:
            await turn[1].wait()
        except trio.Cancelled:
            if turn[1].is_set():
                self._left += size
            else:
                self._waiting.remove(turn)
            self._let_in()
            raise
        return Claim(self, size)

    def returned(self, size: int) -> None:
        """A request has given back its room."""
        self._left += size
        self._let_in()

    def _let_in(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._left:
            size, turn = self._waiting.popleft()
            self._left -= size
            turn.set()
