"""The queue gives what java.util.PriorityQueue gave when it was asked the same."""

from __future__ import annotations

import pytest

from kafkalite.group_coordinator.java_queue import JavaPriorityQueue

# Twelve items with keys 0 to 3; each that was polled comes back, each third with a larger key.
POLLED = [
    *(0, 4, 8, 4, 8, 8, 8, 11, 8, 11, 8, 7, 8, 7, 3, 7, 3, 0, 4, 3, 0, 3, 0, 0, 0, 4, 0, 4, 0, 8),
    *(0, 8, 2, 8, 2, 11, 2, 11, 10, 11, 10, 7, 3, 10, 7, 6, 10, 7, 10, 7, 7, 7, 6, 7, 6, 7, 2, 7),
    *(2, 4),
]
LEFT = [2, 4, 0, 9, 1, 5, 3, 10, 8, 11, 7, 6]


def test_equals_come_in_the_order_of_java() -> None:
    keys = [item * 7 % 4 for item in range(12)]
    queue = JavaPriorityQueue(keys.__getitem__)
    for item in range(12):
        queue.add(item)
    polled: list[int] = []
    for turn in range(60):
        item = queue.poll()
        polled.append(item)
        keys[item] += turn % 3 == 0
        queue.add(item)
    assert polled == POLLED
    assert [queue.poll() for _ in range(len(queue))] == LEFT


def test_an_empty_queue_has_nothing() -> None:
    queue = JavaPriorityQueue[int](float)
    assert not queue
    with pytest.raises(IndexError):
        queue.poll()
