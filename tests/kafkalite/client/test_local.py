"""Verbs in the broker's own process: at once, in a thread, or awaited."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import trio

from kafkalite.client.local import at_once, in_trio
from kafkalite.control.problems import Problem
from kafkalite.testing import broker as test_broker


async def test_in_trio_means_a_task_of_trio() -> None:
    assert in_trio()
    assert not await trio.to_thread.run_sync(in_trio)


def test_asyncio_is_not_trio() -> None:
    async def ask() -> bool:
        return in_trio()

    assert not in_trio()
    assert not asyncio.run(ask())


def test_a_verb_that_need_not_wait_is_done_at_once() -> None:
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
        with made as c:
            assert (c.cluster, len(c.bootstrap.split(","))) == ("mine", 2)
            c.create_topic("t")
            assert len(c.topic("t").partitions) == 3
            assert asyncio.run(_topics(c)) == ["t"]
            assert b.topics() == []
        with pytest.raises(Problem, match="no cluster 'mine'"):
            c.topics()
        assert [each.name for each in b.ask("clusters.list")] == ["default"]


async def _topics(c: test_broker) -> list[str]:
    return [each.name for each in await c.asynchronous.topics()]
