"""Long work in slices: a generator does a little and yields; others have their turn in between."""

from __future__ import annotations

from collections.abc import Generator
from time import monotonic
from typing import Final, TypeVar

from kafkalite.requests.context import RequestContext

T = TypeVar("T")

Steps = Generator[None, None, T]
"""Work that yields after each of its steps, of a millisecond at most, and returns its result."""

# Work gives way to others after so much time.
SLICE_SECONDS: Final = 0.005


def at_once(steps: Steps[T]) -> T:
    """The result of work that is known to be short."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            value: T = done.value
            return value


async def in_slices(steps: Steps[T], context: RequestContext) -> T:
    """The result of work that may be long."""
    await context.connection.move_to_task()
    until = monotonic() + SLICE_SECONDS
    while True:
        try:
            next(steps)
        except StopIteration as done:
            value: T = done.value
            return value
        if monotonic() > until:
            await context.connection.yield_turn()
            until = monotonic() + SLICE_SECONDS
