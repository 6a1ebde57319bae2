"""The garbage collector in a process that is a broker's: it passes over what stays.

A full collection goes through all objects in one go, 20 ms where there are 80,000. Most of them are
the broker's state. That is freed without the collector, as it is in no cycle; what is kept from the
collector and becomes a cycle later stays until the process ends.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Generator
from contextlib import contextmanager
from time import thread_time
from typing import TYPE_CHECKING, Any, Final

from kafkalite.requests.full_collections import without_full_collections

if TYPE_CHECKING:
    from kafkalite.replica.topics import Topics

# A partition has more than forty objects: to look through those of so many takes 5 ms.
_MANY: Final = 250
_FULL: Final = 2
_LONG_SECONDS: Final = 0.003
# A request with a thousand partitions makes some thousand objects, and all are freed when it is
# answered. With Python's 700 the collector goes through them, several times: a fifth of the work.
_YOUNG_OBJECTS: Final = 10_000
# The collector goes through its younger objects once, and the next time through all: some 30,000
# that have come since it kept what it found. After two times each, which is four times as many,
# thousands of connections that come at once would be gone through in one go of 50 ms.
_YOUNGER_COLLECTIONS: Final = 0


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
    """Keep what a long full collection leaves from the next ones, so that none takes long; and keep
    the collector from what a request makes and leaves."""
    thresholds = gc.get_threshold()
    watch = _Watch()
    # The second one is another thing since 3.14: how little of the old objects each looks at.
    middle = _YOUNGER_COLLECTIONS if sys.version_info < (3, 14) else thresholds[1]
    gc.set_threshold(_YOUNG_OBJECTS, middle, _YOUNGER_COLLECTIONS)
    gc.callbacks.append(watch.see)
    without_full_collections.are_short = True
    try:
        yield
    finally:
        without_full_collections.are_short = False
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
