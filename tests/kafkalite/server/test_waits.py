"""Throttled clients, and other handlers in a connection's middle."""

from __future__ import annotations

from itertools import pairwise

import trio

from kafkalite.server.channel import ChannelState
from kafkalite.server.connection import Connection
from kafkalite.server.loop import Loop
from kafkalite.wire.fields import InMemory, Records
from tests.kafkalite.one_connection import (
    FETCH,
    PRODUCE,
    Handler,
    connected,
    echo,
    framed,
    in_task_and_loop,
    receive,
    receive_all,
)

LONG = 30.0


@in_task_and_loop
async def test_a_throttled_client_has_its_answer_and_is_not_read_for_a_while(
    loop: Loop | None,
) -> None:
    answered: list[float] = []

    def throttle(connection: Connection, frame: InMemory) -> list[Records]:
        answered.append(trio.current_time())
        connection.context.connection.mute(trio.current_time() + 0.1)
        connection.context.connection.mute(trio.current_time() + 0.05)  # the longer one counts
        return [framed(bytes(frame))]

    async with connected(throttle, loop) as (stream, connection):
        with trio.fail_after(LONG):
            await stream.send_all(framed(PRODUCE, PRODUCE))
            assert await receive(stream, 6) == framed(PRODUCE)
            assert connection.state is ChannelState.MUTED
            await stream.send_all(framed(FETCH))
            assert await receive(stream, 12) == framed(PRODUCE, FETCH)
    assert min(later - first for first, later in pairwise(answered)) >= 0.1


@in_task_and_loop
async def test_a_throttled_client_whose_request_had_a_task(loop: Loop | None) -> None:
    async def throttle(connection: Connection, frame: InMemory) -> list[Records]:
        await connection.context.connection.move_to_task()
        connection.context.connection.mute(trio.current_time() + 0.05)
        return [framed(bytes(frame))]

    async with connected(throttle, loop) as (stream, _):
        with trio.fail_after(LONG):
            began = trio.current_time()
            await stream.send_all(framed(PRODUCE, PRODUCE))
            assert await receive(stream, 12) == framed(PRODUCE, PRODUCE)
            assert trio.current_time() - began >= 0.05


@in_task_and_loop
async def test_stopping_ends_throttling(loop: Loop | None) -> None:
    def throttle(connection: Connection, frame: InMemory) -> list[Records]:
        connection.context.connection.mute(trio.current_time() + 1000)
        return [framed(bytes(frame))]

    async with connected(throttle, loop) as (stream, connection):
        await stream.send_all(framed(PRODUCE))
        assert await receive(stream, 6) == framed(PRODUCE)
        connection.stop()
        with trio.fail_after(LONG):
            assert await receive_all(stream) == b""


@in_task_and_loop
async def test_another_handler_answers_from_the_next_request_on(loop: Loop | None) -> None:
    """One handler lets the next take its place, as authentication does."""

    def authenticate(connection: Connection, frame: InMemory) -> list[Records]:
        connection.answer_with(Handler(echo))
        return [framed(b"welcome")]

    async with connected(authenticate, loop) as (stream, _):
        await stream.send_all(framed(PRODUCE, PRODUCE))
        with trio.fail_after(LONG):
            assert await receive(stream, 17) == framed(b"welcome", PRODUCE)
