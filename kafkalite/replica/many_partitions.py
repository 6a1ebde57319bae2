"""Many partitions, and the garbage collector."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafkalite.replica.topics import Topics

# A partition has more than forty objects: to look through those of so many takes 5 ms.
_MANY: Final = 250


def freeze_when_grown(topics: Topics) -> None:
    """Keep the garbage collector from going through many partitions, which takes 100 ms and more.

    They are no garbage. When they are deleted, they are freed without it.
    """
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
