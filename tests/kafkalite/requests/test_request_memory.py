"""Huge requests wait for each other: in order, each for as much room as it takes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import inf

import pytest
import trio
import trio.testing

from kafkalite.requests import purgatory
from kafkalite.requests.purgatory import Watchers
from kafkalite.requests.request_memory import RequestMemory


class Requests:
    """Requests that take memory until they are told to end."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.memory = RequestMemory(100)
        self.begun: list[str] = []
        self._nursery = nursery
        self._ends: dict[str, trio.Event] = {}
        self._scopes: dict[str, trio.CancelScope] = {}
        self.watchers = Watchers()

    async def begin(self, name: str, size: int, *, waits: bool = False) -> None:
        self._nursery.start_soon(self._run, name, size, waits)
        await trio.testing.wait_all_tasks_blocked()

    async def _run(self, name: str, size: int, waits: bool) -> None:
        self._ends[name] = trio.Event()
        with trio.CancelScope() as self._scopes[name]:
            async with self.memory.taken(size):
                self.begun.append(name)
                if waits:
                    await purgatory.wait_until(self._ends[name].is_set, [self.watchers], inf)
                else:
                    await self._ends[name].wait()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        self.watchers.check_and_complete()
        await trio.testing.wait_all_tasks_blocked()

    async def cancel(self, name: str) -> None:
        self._scopes[name].cancel()
        await trio.testing.wait_all_tasks_blocked()


@asynccontextmanager
async def requests() -> AsyncIterator[Requests]:
    async with trio.open_nursery() as nursery:
        made = Requests(nursery)
        yield made
        # Whatever came: all the room is there again.
        await made.begin("all", 100)
        assert made.begun[-1] == "all"
        nursery.cancel_scope.cancel()


async def test_as_many_as_there_is_room_for() -> None:
    async with requests() as r:
        for name in "abc":
            await r.begin(name, 40)
        assert r.begun == ["a", "b"]
        await r.end("a")
        assert r.begun == ["a", "b", "c"]
        await r.end("b")
        await r.end("c")


async def test_no_other_overtakes_one_that_waits_for_much() -> None:
    async with requests() as r:
        await r.begin("a", 60)
        await r.begin("large", 80)
        await r.begin("small", 30)
        assert r.begun == ["a"]
        await r.end("a")
        assert r.begun == ["a", "large"]
        await r.end("large")
        assert r.begun == ["a", "large", "small"]
        await r.end("small")


async def test_one_that_takes_more_than_there_is_is_alone() -> None:
    async with requests() as r:
        await r.begin("a", 1)
        await r.begin("huge", 1000)
        assert r.begun == ["a"]
        await r.end("a")
        assert r.begun == ["a", "huge"]
        await r.begin("b", 1)
        assert r.begun == ["a", "huge"]
        await r.end("huge")
        assert r.begun == ["a", "huge", "b"]
        await r.end("b")


async def test_a_connection_that_is_cut_keeps_nothing() -> None:
    async with requests() as r:
        await r.begin("a", 100)
        await r.begin("b", 100)
        await r.begin("c", 50)
        await r.cancel("b")
        assert r.begun == ["a"]
        await r.cancel("a")
        assert r.begun == ["a", "c"]
        await r.end("c")


async def test_cut_in_the_moment_in_which_it_is_let_in() -> None:
    async with requests() as r:
        await r.begin("a", 100)
        await r.begin("b", 100)
        await r.begin("c", 100)
        r._ends["a"].set()
        r._scopes["b"].cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert r.begun == ["a", "c"]
        await r.end("c")


async def test_a_request_that_waits_for_another_makes_room_for_it() -> None:
    """The followers' Fetch, on which an acks=all waits, may be as huge."""
    async with requests() as r:
        await r.begin("produce", 100, waits=True)
        await r.begin("fetch", 100)
        assert r.begun == ["produce", "fetch"]
        await r.end("produce")
        await r.begin("third", 100)
        assert r.begun == ["produce", "fetch"], "room is given back once"
        await r.end("fetch")
        await r.end("third")


async def test_a_failure_gives_the_room_back() -> None:
    memory = RequestMemory(10)
    with pytest.raises(ValueError, match="no"):
        async with memory.taken(10):
            raise ValueError("no")
    with trio.fail_after(1):
        async with memory.taken(10):
            pass
