"""Threads that wait for a disk, so that the loop does not.

They have a limit of their own: many clients that read what is not in memory must not keep flushes
and other threads' work waiting, and more threads make no disk faster.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Final, TypeVar

import trio

from kafkalite.log.page_cache import NotCached, cached_only

# Python's words.
NO_THREAD: Final = "can't start new thread"
_MOST_THREADS: Final = 8
# A read may be cold in several places, and its pages gone again when memory is scarce.
_TRIES: Final = 100

T = TypeVar("T")

_limiter: Final = trio.lowlevel.RunVar[trio.CapacityLimiter]("disk threads")


async def in_disk_thread(work: Callable[[], object]) -> None:
    """Have `work` done in a thread, and wait for it, whatever happens. Raises what it raises."""
    try:
        limiter = _limiter.get()
    except LookupError:
        limiter = trio.CapacityLimiter(_MOST_THREADS)
        _limiter.set(limiter)
    await in_thread(work, limiter)


async def in_thread(work: Callable[[], T], limiter: trio.CapacityLimiter | None = None) -> T:
    """The result of `work`, done in a thread, or here if none can be started. Raises what it does.

    A user, or a container, may have no more threads for a while: others wait then.
    """
    try:
        return await trio.to_thread.run_sync(work, limiter=limiter)
    except RuntimeError as error:
        if str(error) != NO_THREAD:
            raise
        return work()


async def finished(
    steps: Generator[Callable[[], None] | None, None, T],
    move_to_task: Callable[[], Awaitable[None]] | None = None,
) -> T:
    """The result of steps, of which only those need a task that yield a wait for the disk.

    A handler's `move_to_task` is awaited before anything is waited for. Raises what a step raises.
    """
    while True:
        try:
            wait = next(steps)
        except StopIteration as done:
            value: T = done.value
            return value
        if wait is not None:
            if move_to_task is not None:
                await move_to_task()
            await in_disk_thread(wait)


def off_loop(read: Callable[[], T]) -> Generator[Callable[[], None], None, T]:
    """Steps that call `read`, and again once what was on the disk only has been waited for."""
    for _ in range(_TRIES):
        try:
            with cached_only:
                return read()
        except NotCached as missing:
            read_missing = missing.read
        yield read_missing
    return read()


async def read_off_loop(
    read: Callable[[], T], move_to_task: Callable[[], Awaitable[None]] | None = None
) -> T:
    """The result of `read`; a thread waits for what is on the disk only. As `finished`."""
    return await finished(off_loop(read), move_to_task)
