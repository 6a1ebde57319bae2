"""The garbage collector in a process that is a broker's: it passes over what stays.

A full collection goes through all objects in one go, 20 ms where there are 80,000. Most of them are
the broker's state. That is freed without the collector, as it is in no cycle; what is kept from the
collector and becomes a cycle later stays until the process ends.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from time import thread_time
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kafkalite.replica.topics import Topics

# A partition has more than forty objects: to look through those of so many takes 5 ms.
_MANY: Final = 250
_FULL: Final = 2
_LONG_SECONDS: Final = 0.003
# A full collection comes after so many of younger objects: Python's 10 find 70,000 new ones.
_YOUNGER_COLLECTIONS: Final = 3


def freeze_when_grown(topics: Topics) -> None:
    """Keep the collector from going through many partitions, which takes 100 ms and more."""
    frozen = 0

    def changed() -> None:
        nonlocal frozen
        count = sum(len(topic.partitions) for topic in topics.all())
        if count >= frozen + _MANY:
            frozen = count
            gc.collect(1)  # what is garbage now would stay
            gc.freeze()
        frozen = min(frozen, count)

    topics.subscribe(changed)


@contextmanager
def short_collections() -> Generator[None]:
    """Keep what a long full collection leaves from the next ones, so that none takes long."""
    thresholds = gc.get_threshold()
    watch = _Watch()
    gc.set_threshold(*thresholds[:2], _YOUNGER_COLLECTIONS)
    gc.callbacks.append(watch.see)
    try:
        yield
    finally:
        gc.callbacks.remove(watch.see)
        gc.set_threshold(*thresholds)


class _Watch:
    """Hears of collections."""

    def __init__(self) -> None:
        self._began = 0.0

    def see(self, phase: str, info: dict[str, Any]) -> None:
        """A callback of the collector's (gc.callbacks)."""
        if info["generation"] != _FULL:
            return
        if phase == "start":
            self._began = thread_time()
        elif thread_time() - self._began > _LONG_SECONDS:
            gc.freeze()
