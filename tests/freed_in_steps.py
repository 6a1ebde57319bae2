"""Memory that work in steps gives back: to free a million objects takes a tenth of a second."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


@contextmanager
def without_collections() -> Generator[None]:
    """Garbage of other tests is not freed meanwhile."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def alive() -> int:
    """The lists, tuples and other containers that are alive, from a number that is not known.

    No collection may run meanwhile: it begins anew. `sys.getallocatedblocks` counts all objects,
    and takes milliseconds in a large process.
    """
    return gc.get_count()[0]


def most_freed(steps: Generator[Any, None, Any]) -> int:
    """The largest number of containers that one step, or the end, has freed."""
    with without_collections():
        return _most_freed(steps)


def _most_freed(steps: Generator[Any, None, Any]) -> int:
    most, before = 0, alive()
    is_over = False
    while not is_over:
        try:
            next(steps)
        except StopIteration as done:
            result = done.value  # alive: it is the caller's
            is_over = True
        after = alive()
        most, before = max(most, before - after), after
    del result
    return most


class FreedInSlices:
    """Takes the place of `in_slices`, and notes how many containers each step has freed, and what
    came between the last one and `over`."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self._there = 0

    async def __call__(self, steps: Generator[Any, None, Any], _: Any) -> Any:
        while True:
            try:
                next(steps)
            except StopIteration as done:
                return done.value
            finally:
                self.over()

    def over(self) -> None:
        before, self._there = self._there, alive()
        self.counts.append(before - self._there)
