"""The collector passes over what stays, and what is deleted is freed nevertheless."""

from __future__ import annotations

import gc
import sys
import time
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.soak.stolen_time import StolenTime
from kafkalite.server import collector
from kafkalite.server.collector import freeze_when_grown, short_collections
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


def full_collections(count: int) -> float:
    """The longest of so many, in seconds, while others come and stay."""
    stays: list[Any] = []
    longest, stolen = 0.0, StolenTime()
    for _ in range(count):
        stays.append([Itself() for _ in range(20_000)])
        began = time.thread_time()
        gc.collect()
        longest = max(longest, time.thread_time() - began)
    return stolen.own_seconds(longest, most=0.0)


def test_no_full_collection_goes_through_what_a_long_one_has_left() -> None:
    before, callbacks = gc.get_threshold(), [*gc.callbacks]
    try:
        with short_collections():
            assert gc.get_threshold()[2] < before[2]
            frozen = gc.get_freeze_count()
            with_it = full_collections(10)
            assert gc.get_freeze_count() > frozen + 100_000
    finally:
        gc.unfreeze()
    assert (gc.get_threshold(), gc.callbacks) == (before, callbacks)
    assert with_it < full_collections(10) / 2


def test_the_collector_does_not_go_through_what_a_request_makes() -> None:
    seen: list[str] = []

    def see(phase: str, info: dict[str, Any]) -> None:
        seen.append(phase)

    with short_collections():
        gc.collect(0)
        gc.callbacks.append(see)
        try:
            rows = [(str(index), [index]) for index in range(4_000)]
            assert not seen
            cycles = [Itself() for _ in range(10_000)]
            assert seen
        finally:
            gc.callbacks.remove(see)
    del rows, cycles


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="it goes through parts of what is old")
def test_what_comes_at_once_and_stays_is_gone_through_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(collector, "_LONG_SECONDS", 0.0)
    gone_through: list[int] = []

    def see(phase: str, info: dict[str, Any]) -> None:
        if phase == "start" and info["generation"] == 2:
            gone_through.append(len(gc.get_objects()))

    try:
        with short_collections():
            gc.collect()
            gc.callbacks.append(see)
            stays = [Itself() for _ in range(100_000)]
            gc.callbacks.remove(see)
        assert len(gone_through) > 2
        assert max(gone_through) < 40_000
    finally:
        gc.unfreeze()
    del stays


def test_short_collections_keep_nothing() -> None:
    gc.freeze()
    try:
        with short_collections():
            frozen = gc.get_freeze_count()
            garbage = Itself()
            gc.collect()
            freed = weakref.ref(garbage)
            del garbage
            gc.collect()
            assert freed() is None
            assert gc.get_freeze_count() <= frozen
    finally:
        gc.unfreeze()
