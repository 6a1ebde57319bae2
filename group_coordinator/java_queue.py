"""java.util.PriorityQueue: among equals it gives the one that Java gives.

heapq keeps another of several equals in front, and a client sees which one got a task.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class JavaPriorityQueue(Generic[T]):
    """A binary heap, the item with the smallest `key` first. A key changes only outside of it."""

    def __init__(self, key: Callable[[T], float]) -> None:
        self._key = key
        self._items: list[T] = []

    def __len__(self) -> int:
        return len(self._items)

    def add(self, item: T) -> None:
        """Put an item in. Source: PriorityQueue.siftUp."""
        items, key = self._items, self._key(item)
        place = len(items)
        items.append(item)
        while place > 0:
            parent = (place - 1) >> 1
            if key >= self._key(items[parent]):
                break
            items[place] = items[parent]
            place = parent
        items[place] = item

    def poll(self) -> T:
        """Take the first item out. Raises IndexError if there is none. Source: siftDown."""
        items = self._items
        last = items.pop()
        if not items:
            return last
        first, key, place = items[0], self._key(last), 0
        while (child := 2 * place + 1) < len(items):
            right = child + 1
            if right < len(items) and self._key(items[child]) > self._key(items[right]):
                child = right
            if key <= self._key(items[child]):
                break
            items[place] = items[child]
            place = child
        items[place] = last
        return first
