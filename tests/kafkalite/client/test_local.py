"""Verbs in the broker's own process: at once, in a thread, or awaited."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
import trio

from kafkalite.client.local import at_once, in_trio
from kafkalite.control.problems import Problem
from kafkalite.requests import slices
from kafkalite.testing import broker as test_broker


async def test_in_trio_means_a_task_of_trio() -> None:
    assert in_trio()
    assert not await trio.to_thread.run_sync(in_trio)


def test_asyncio_is_not_trio() -> None:
    async def ask() -> bool:
        return in_trio()

    assert not in_trio()
    assert not asyncio.run(ask())


async def test_a_verb_that_need_not_wait_is_done_at_once() -> None:
    async def verb() -> int:
        return 7

    assert at_once(verb(), "seven") == 7


def test_a_verb_that_has_to_wait_is_refused_and_ended() -> None:
    ended: list[bool] = []

    async def verb() -> None:
        try:
            await trio.lowlevel.checkpoint()
        finally:
            ended.append(True)

    with pytest.raises(RuntimeError, match=r"wait has to wait: in trio, await it from"):
        trio.run(_at_once, verb())
    assert ended == [True]


async def _at_once(doing: Any) -> None:
    at_once(doing, "wait")


async def test_both_ways_reach_the_same_cluster(broker: test_broker) -> None:
    broker.create_topic("t")
    k = broker.asynchronous
    assert (await k.topic("t")).name == broker.topic("t").name == "t"
    with pytest.raises(RuntimeError, match="await it from"):
        broker.wait.records("t")


def test_a_new_cluster_is_there_within_its_block() -> None:
    with test_broker() as b:
        made = b.new_cluster("mine", nodes=2, config={"num.partitions": 3})
        asked: list[Callable[[], object]] = [
            lambda: made.create_topic("t"),
            lambda: made.asynchronous,
            lambda: made.bootstrap,
        ]
        for ask in asked:  # these were of the default cluster
            with pytest.raises(RuntimeError, match="no cluster yet: use it in a with statement"):
                ask()
        with made as c:
            assert (c.cluster, len(c.bootstrap.split(","))) == ("mine", 2)
            c.create_topic("t")
            assert len(c.topic("t").partitions) == 3
            assert asyncio.run(_topics(c)) == ["t"]
            assert b.topics() == []
        with pytest.raises(Problem, match="no cluster 'mine'"):
            c.topics()
        assert [each.name for each in b.ask("clusters.list")] == ["default"]


async def test_a_new_cluster_in_the_callers_own_loop(broker: test_broker) -> None:
    """Only awaiting makes one there; its end is waited for, though its block was given up."""
    with trio.move_on_after(30) as scope:
        async with broker.new_cluster("mine", nodes=2) as c:
            c.create_topic("t")
            assert (c.cluster, len(c.bootstrap.split(","))) == ("mine", 2)
            scope.cancel()
            await trio.sleep_forever()
    assert [each.name for each in broker.ask("clusters.list")] == ["default"]


def test_a_new_cluster_beside_asyncio() -> None:
    async def use() -> list[str]:
        async with test_broker() as b, b.new_cluster() as c:
            await c.asynchronous.create_topic("t")
            return [each.name for each in await c.asynchronous.topics()]

    assert asyncio.run(use()) == ["t"]


WAITING: dict[str, Callable[[test_broker], object]] = {
    "reset": lambda b: b.reset(),
    "restart": lambda b: b.restart(),
    "snapshot": lambda b: b.snapshot("s"),
    "nodes": lambda b: b.restart_node(2),
    "records": lambda b: b.records("t", 3),
    "wait": lambda b: b.wait.records("t", 3),
    "advance": lambda b: b.clock.advance("1h"),
    "traffic": lambda b: b.traffic(),
    "create": lambda b: b.new_cluster().__enter__(),
    "delete": lambda b: b.ask("clusters.delete", cluster="other"),
    "recording": lambda b: b.ask("recording.start"),
    "import": lambda b: b.import_snapshot("s", "data.tar"),
    "roll": lambda b: b.ask("nodes.roll"),
}


@pytest.mark.parametrize("name", WAITING)
def test_a_verb_that_was_refused_leaves_nothing(name: str) -> None:
    """It had a lock, or had its caller woken by what was not its own any more: then the next
    verbs failed, and the broker never ended."""
    done: list[str] = []

    async def refused() -> None:
        await _refused(WAITING[name])
        done.append(name)

    thread = threading.Thread(target=trio.run, args=(refused,), daemon=True)
    thread.start()
    thread.join(30)
    assert done == [name]


async def _refused(ask: Callable[[test_broker], object]) -> None:
    async with test_broker(nodes=2) as b, b.new_cluster("other"):
        b.create_topic("t")
        before = b.describe(), b.nodes(), b.clock.show().ahead_ms
        with pytest.raises(RuntimeError, match="has to wait: in trio, await it from"):
            ask(b)
        assert (b.describe(), b.nodes(), b.clock.show().ahead_ms) == before
        b.produce("t", "1", count=3)
        await trio.sleep(0.1)
        async with b.new_cluster() as c:
            assert [each.name for each in b.ask("clusters.list")][1:] == ["other", c.cluster]
        await b.asynchronous.reset()
        assert b.topics() == []


async def test_long_work_is_done_whole_where_nothing_may_wait(broker: test_broker) -> None:
    """On a busy machine, verbs that do a little failed, after they had done it."""
    broker.create_topic("t", partitions=100)
    slice_of = slices._slice
    with patch.object(slices, "_slice", lambda steps, _: slice_of(steps, 0.0)):
        broker.produce("t", "1")
        assert len(broker.records("t")) == 1
        assert len(broker.topic("t").partitions) == 100
        assert broker.seed({"topics": [{"name": "u", "records": [{"value": "1"}]}]}).records == 1


def test_a_broker_is_not_handed_to_another_process() -> None:
    with pytest.raises(TypeError, match="hand over its `bootstrap`"):
        pickle.dumps(test_broker())


async def _topics(c: test_broker) -> list[str]:
    return [each.name for each in await c.asynchronous.topics()]
