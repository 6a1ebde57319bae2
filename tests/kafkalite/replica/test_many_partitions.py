"""The garbage collector passes over many partitions, and what is deleted is freed nevertheless."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kafkalite.replica.many_partitions import freeze_when_grown
from kafkalite.testing import broker as test_broker


@pytest.mark.slow
@pytest.mark.parametrize("count", [250, 1000])
async def test_many_partitions_are_not_looked_through(broker: test_broker, count: int) -> None:
    topics = broker._running.services.topics
    freeze_when_grown(topics)
    before = gc.get_freeze_count()
    broker.create_topic("few", 10)
    assert gc.get_freeze_count() <= before
    for _ in range(2):
        broker.create_topic("many", count)
        found = topics.get("many")
        assert found is not None
        partition = found.partitions[count // 2]
        assert all(each is not partition for each in gc.get_objects())
        freed = weakref.ref(partition.log)
        del found, partition
        broker.delete_topic("many")
        for _ in broker._running.services.logs.manager.move_deleted():
            pass
        assert freed() is None


class Itself:
    def __init__(self) -> None:
        self.itself = self


def test_what_is_garbage_does_not_stay_with_them() -> None:
    listeners: list[Callable[[], None]] = []
    many = [SimpleNamespace(partitions=range(250))]
    topics: Any = SimpleNamespace(all=lambda: many, subscribe=listeners.append)
    freeze_when_grown(topics)
    garbage = Itself()
    freed = weakref.ref(garbage)
    gc.disable()
    try:
        del garbage
        (changed,) = listeners
        changed()
        assert freed() is None
    finally:
        gc.unfreeze()
        gc.enable()
