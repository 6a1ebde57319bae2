"""A request in a task of its own: pieces, silence, last words."""

from __future__ import annotations

import logging
from contextlib import suppress

import pytest
import trio

from kafkalite.requests.context import CloseConnection
from kafkalite.requests.suspension import ResponseCoroutine
from kafkalite.server.channel import ChannelState
from kafkalite.server.connection import Connection
from kafkalite.server.loop import Loop
from kafkalite.wire.fields import InMemory, Records
from tests.kafkalite.one_connection import (
    FETCH,
    PRODUCE,
    connected,
    framed,
    in_task_and_loop,
    receive,
    receive_all,
)

LONG = 30.0


@in_task_and_loop
async def test_a_handler_goes_on_in_a_task_of_the_connection(loop: Loop | None) -> None:
    names: list[str] = []

    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        await connection.context.connection.move_to_task()
        names.append(trio.lowlevel.current_task().name)
        await connection.context.connection.move_to_task()  # it is there
        await trio.sleep(0.001)
        return [framed(bytes(frame))]

    async with connected(answer, loop) as (stream, connection):
        with trio.fail_after(LONG):
            await stream.send_all(framed(PRODUCE, FETCH))
            assert await receive(stream, 12) == framed(PRODUCE, FETCH)
        assert connection.state is ChannelState.READING
    assert names == ["kafkalite.API_VERSIONS"] * 2  # dispatch says which it is


@in_task_and_loop
async def test_pieces_are_sent_before_the_response(loop: Loop | None) -> None:
    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        response = framed(bytes(frame))
        for index in range(len(response) - 1):
            await connection.context.connection.send([response[index : index + 1]])
            await trio.sleep(0.001)
        return [response[-1:]]

    async with connected(answer, loop) as (stream, _):
        with trio.fail_after(LONG):
            await stream.send_all(framed(PRODUCE, FETCH))
            assert await receive(stream, 1) == framed(PRODUCE)[:1]
            assert await receive(stream, 11) == framed(PRODUCE, FETCH)[1:]


@pytest.mark.parametrize("ending", ["the client hangs up", "stop", "abort"])
@in_task_and_loop
async def test_silence_lasts_until_somebody_ends_it(loop: Loop | None, ending: str) -> None:
    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        await connection.context.connection.silence()
        raise AssertionError("it went on")

    async with connected(answer, loop) as (stream, connection):
        await stream.send_all(framed(PRODUCE, FETCH))
        await trio.sleep(0.02)
        await stream.send_all(framed(PRODUCE))
        with trio.move_on_after(0.02):
            await receive_all(stream)
            raise AssertionError("it was answered")
        if ending == "stop":
            connection.stop()
        elif ending == "abort":
            connection.abort()
        else:
            await stream.send_eof()
        with trio.fail_after(LONG):
            # Input that was not thrown away yet makes the end a reset.
            with suppress(trio.BrokenResourceError):
                assert await receive_all(stream) == b""
            while connection.state is not ChannelState.CLOSED:  # noqa: ASYNC110 - it has no event
                await trio.sleep(0.001)


@pytest.mark.parametrize("in_task", [False, True])
@in_task_and_loop
async def test_last_words_come_after_the_responses_before_them(
    loop: Loop | None, in_task: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        if bytes(frame) == PRODUCE:
            return [framed(bytes(frame))]
        if in_task:
            await connection.context.connection.move_to_task()
        raise CloseConnection("enough", b"half an ans")

    caplog.set_level(logging.INFO)
    async with connected(answer, loop) as (stream, _):
        await stream.send_all(framed(PRODUCE, FETCH, PRODUCE))
        with trio.fail_after(LONG):
            assert await receive_all(stream) == framed(PRODUCE) + b"half an ans"
    assert [record.message for record in caplog.records] == [
        "10.0.0.1:5555: connection closed: enough"
    ]


@in_task_and_loop
async def test_a_client_that_is_gone_ends_its_connection_alone(loop: Loop | None) -> None:
    """It is gone when the answer to its first request is sent, and the second has a task."""
    client: list[trio.SocketStream] = []
    closed = trio.Event()

    async def in_task(connection: Connection) -> list[Records]:
        await connection.context.connection.move_to_task()
        await trio.sleep_forever()
        raise AssertionError("it went on")

    def answer(connection: Connection, frame: InMemory) -> list[Records] | ResponseCoroutine:
        if bytes(frame) == PRODUCE:
            return [framed(PRODUCE)]
        client[0].socket.close()
        return in_task(connection)

    async with connected(answer, loop) as (stream, connection):
        client.append(stream)
        connection.context.connection.when_closed(closed.set)
        await stream.send_all(framed(PRODUCE, FETCH))
        with trio.fail_after(5):
            await closed.wait()
