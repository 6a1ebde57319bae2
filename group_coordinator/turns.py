"""Locks by key: the holders of one key have their turns one after the other."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio


class Turns:
    """Locks by key, which are there as long as somebody has or wants one."""

    def __init__(self) -> None:
        self._locks: dict[str, trio.Lock] = {}

    def __len__(self) -> int:
        return len(self._locks)

    @asynccontextmanager
    async def of(self, key: str) -> AsyncGenerator[None]:
        """Wait until no other is in the block for this key."""
        lock = self._locks.setdefault(key, trio.Lock())
        try:
            async with lock:
                yield
        finally:
            if not lock.locked() and not lock.statistics().tasks_waiting:
                self._locks.pop(key, None)
