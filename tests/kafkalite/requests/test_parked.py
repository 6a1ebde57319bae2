"""Requests that are answered together go on in turns of the loop, without tasks."""

from __future__ import annotations

from contextlib import AsyncExitStack

import trio

from kafkalite.group_coordinator.pending_response import Parked
from kafkalite.requests.parked import response_of
from kafkalite.requests.purgatory import Watchers
from kafkalite.server.connection import Connection
from kafkalite.server.loop import Loop
from kafkalite.wire.fields import InMemory, Records
from tests.kafkalite.one_connection import (
    FETCH,
    PRODUCE,
    connected,
    framed,
    hosted,
    in_task_and_loop,
    receive,
    receive_all,
)
from tests.kafkalite.until import until

LONG = 30.0
SOON = 0.1
COUNT = 50


class Group:
    """Every FETCH is parked; a PRODUCE waits for `let_go`, but not for long."""

    def __init__(self) -> None:
        self.parked: list[Parked[bytes]] = []
        self.watchers = Watchers()
        self.may_go = False

    def let_go(self) -> None:
        self.may_go = True
        self.watchers.check_and_complete()

    async def respond(self, connection: Connection, frame: InMemory) -> list[Records]:
        if bytes(frame) != FETCH:
            soon = trio.current_time() + SOON
            asked = connection.context.connection
            await asked.wait_until(lambda: self.may_go, [self.watchers], soon, answer_early=False)
            return [framed(bytes(frame))]
        parked = Parked[bytes]()
        self.parked.append(parked)
        return [framed(await response_of(parked, connection.context))]


@in_task_and_loop
async def test_the_response_comes_later_or_is_there(loop: Loop | None) -> None:
    group = Group()
    async with connected(group.respond, loop) as (stream, connection):
        await stream.send_all(framed(FETCH))
        await until(lambda: len(group.parked) == 1)
        group.parked[0].answer(b"later")
        with trio.fail_after(LONG):
            assert await receive(stream, 9) == framed(b"later")
        there = Parked[bytes]()
        there.answer(b"now")
        assert await response_of(there, connection.context) == b"now"


@in_task_and_loop
async def test_the_end_of_an_earlier_wait_is_none_of_this_one(loop: Loop | None) -> None:
    group = Group()
    async with connected(group.respond, loop) as (stream, _):
        await stream.send_all(framed(PRODUCE))
        await until(lambda: len(group.watchers) == 1)
        group.let_go()
        with trio.fail_after(LONG):
            assert await receive(stream, 6) == framed(PRODUCE)
        await stream.send_all(framed(FETCH))
        await until(lambda: len(group.parked) == 1)
        await trio.sleep(2 * SOON)
        group.parked[0].answer(b"later")
        with trio.fail_after(LONG):
            assert await receive(stream, 9) == framed(b"later")


@in_task_and_loop
async def test_the_broker_stops_before(loop: Loop | None) -> None:
    group = Group()
    async with connected(group.respond, loop) as (stream, connection):
        await stream.send_all(framed(FETCH))
        await until(lambda: len(group.parked) == 1)
        connection.stop()
        with trio.fail_after(LONG):
            assert await receive_all(stream) == b""


def test_many_that_are_answered_at_once_have_no_tasks() -> None:
    """Trio takes a step of each task that can go on before the loop has its next turn."""

    async def check(loop: Loop) -> None:
        group = Group()
        async with AsyncExitStack() as stack:
            streams: list[trio.SocketStream] = []
            for _ in range(COUNT):
                stream, _ = await stack.enter_async_context(connected(group.respond, loop))
                streams.append(stream)
            tasks = trio.lowlevel.current_statistics().tasks_living
            for stream in streams:
                await stream.send_all(framed(FETCH))
            await until(lambda: len(group.parked) == COUNT)
            assert trio.lowlevel.current_statistics().tasks_living == tasks
            for parked in group.parked:
                parked.answer(b"all")
            assert trio.lowlevel.current_statistics().tasks_living == tasks
            with trio.fail_after(LONG):
                for stream in streams:
                    assert await receive(stream, 7) == framed(b"all")

    hosted(check)
