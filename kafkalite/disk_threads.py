"""Threads that wait for a disk, so that the loop does not.

They have a limit of their own: many clients that read what is not in memory must not keep flushes and
other threads' work waiting, and more threads make no disk faster.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

_MOST_THREADS: Final = 8

_limiter: Final = trio.lowlevel.RunVar[trio.CapacityLimiter]("disk threads")


async def in_disk_thread(work: Callable[[], None]) -> None:
    """Have `work` done in a thread, and wait for it, whatever happens. Raises what it raises."""
    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = trio.CapacityLimiter(_MOST_THREADS)
        _limiter.set(limiter)
    await trio.to_thread.run_sync(work, limiter=limiter)
