"""Where requests wait for something to become true: Kafka's DelayedOperationPurgatory, small.

A request that cannot be answered yet parks in `wait_until`, having put itself among the watchers of
everything that can make its condition true. Whoever changes such a thing calls `check_and_complete` on it: the
condition is evaluated right there, and the request goes on at once, without a timer tick, when it
holds. A change that is not enough wakes nobody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from enum import Enum
from typing import Protocol

import trio


class WakeReason(Enum):
    """Why a parked request goes on."""

    DONE = "done"
    DEADLINE = "deadline"
    INTERRUPTED = "interrupted"


class Watcher(Protocol):
    """A parked request."""

    def try_complete(self) -> None:
        """Go on if what was waited for is there."""
        ...


class Watchers:
    """The requests parked on one thing (a partition, usually)."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        # Made at the first need: most partitions of most brokers are never waited for.
        self._waiting: set[Watcher] | None = None

    def check_and_complete(self) -> None:
        """Something changed: let every parked request look again."""
        if self._waiting:
            for parked in tuple(self._waiting):
                parked.try_complete()

    def __len__(self) -> int:
        return len(self._waiting or ())

    def add(self, parked: Watcher) -> None:
        if self._waiting is None:
            self._waiting = set()
        self._waiting.add(parked)

    def discard(self, parked: Watcher) -> None:
        if self._waiting is not None:
            self._waiting.discard(parked)


class DelayedRequest:
    """One request that waits in a task of its own, and what it waits for."""

    __slots__ = ("done", "scope")

    def __init__(self, done: Callable[[], bool], scope: trio.CancelScope) -> None:
        self.done = done
        self.scope = scope

    def try_complete(self) -> None:
        if self.done():
            self.scope.cancel()


async def wait_until(
    done: Callable[[], bool],
    watched: Iterable[Watchers],
    deadline: float,
    interrupted: Callable[[], Awaitable[object]] = trio.sleep_forever,
) -> WakeReason:
    """Park until `done()`, the deadline (trio's clock), or until `interrupted` returns.

    `done` is called by whatever changes `watched`, so it must be cheap and must not raise.
    """
    if done():
        return WakeReason.DONE
    watched = tuple(watched)
    with trio.CancelScope(deadline=deadline) as scope:
        parked = DelayedRequest(done, scope)
        for watchers in watched:
            watchers.add(parked)
        try:
            await interrupted()
        finally:
            for watchers in watched:
                watchers.discard(parked)
    if done():
        return WakeReason.DONE
    return WakeReason.DEADLINE if scope.cancelled_caught else WakeReason.INTERRUPTED
