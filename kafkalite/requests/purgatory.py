"""Requests that wait for a condition: Kafka's DelayedOperationPurgatory, small.

A request that cannot be answered yet puts itself among the watchers of everything that can make its
condition true. Each change of such a thing ends in `check_and_complete`, and the request goes on at
once, without a timer tick, when its condition holds. A change that is not enough wakes no request.

A request waits in a task (`wait_until`, here), and its condition is evaluated with the change. Or
it waits in the loop (suspension.py), which evaluates the conditions of few or many requests after
the change, in turns that are no longer than others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Protocol

import trio

from kafkalite.requests.request_memory import give_back


class WakeReason(Enum):
    """The reason for which a request that waited goes on."""

    DONE = "done"
    DEADLINE = "deadline"
    INTERRUPTED = "interrupted"


class Watcher(Protocol):
    """A request that waits."""

    def try_complete(self) -> None:
        """Go on if the condition holds."""
        ...


class Watchers:
    """The requests that wait for one thing (a partition, usually)."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        # Made at the first need: most partitions of most brokers are never waited for.
        self._waiting: set[Watcher] | None = None

    def check_and_complete(self) -> None:
        """Something changed: let every request that waits go on if its condition holds now."""
        if self._waiting:
            for each in tuple(self._waiting):
                each.try_complete()

    def __len__(self) -> int:
        return len(self._waiting or ())

    def add(self, watcher: Watcher) -> None:
        if self._waiting is None:
            self._waiting = set()
        self._waiting.add(watcher)

    def discard(self, watcher: Watcher) -> None:
        if self._waiting is not None:
            self._waiting.discard(watcher)


class DelayedRequest:
    """One request that waits in a task, and its condition."""

    __slots__ = ("done", "scope")

    def __init__(self, done: Callable[[], bool], scope: trio.CancelScope) -> None:
        self.done = done
        self.scope = scope

    def try_complete(self) -> None:
        if self.done():
            self.scope.cancel()


async def wait_until(
    done: Callable[[], bool], watched: Iterable[Watchers], deadline: float
) -> WakeReason:
    """Wait, in a task, until `done()` or the deadline (trio's clock): DONE or DEADLINE.

    `done` is called by everything that changes what is watched, so it must be cheap and must not
    raise.
    """
    if done():
        return WakeReason.DONE
    watched = tuple(watched)
    give_back()
    with trio.CancelScope(deadline=deadline) as scope:
        delayed = DelayedRequest(done, scope)
        for watchers in watched:
            watchers.add(delayed)
        try:
            await trio.sleep_forever()
        finally:
            for watchers in watched:
                watchers.discard(delayed)
    return WakeReason.DONE if done() else WakeReason.DEADLINE
