"""A closed connection is gone at once: nothing waits for the garbage collector."""

from __future__ import annotations

import gc
import logging
import struct
import weakref
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from math import inf
from typing import Any

import pytest
import trio

from kafkalite.requests.context import CloseConnection
from kafkalite.requests.purgatory import Watchers
from kafkalite.server.connection import Connection
from kafkalite.server.loop import Loop
from kafkalite.wire.fields import InMemory, Records
from tests.kafkalite.one_connection import PRODUCE, connected, framed, in_task_and_loop, receive_all

LONG = 30.0


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Nor log records, which pytest keeps, and with them the frames of errors."""
    gc.collect()
    gc.disable()
    logging.disable()
    yield
    logging.disable(logging.NOTSET)
    gc.enable()


async def echo(connection: Connection, frame: InMemory) -> list[Records]:
    return [framed(bytes(frame))]


async def park(connection: Connection, frame: InMemory) -> list[Records]:
    await connection.context.connection.wait_until(
        lambda: False, [Watchers()], 1000.0 + LONG, answer_early=True
    )
    return []


async def hold(connection: Connection, frame: InMemory) -> list[Records]:
    await connection.context.connection.wait_until(
        lambda: False, [Watchers()], inf, answer_early=False
    )
    return []


async def wait_in_task(connection: Connection, frame: InMemory) -> list[Records]:
    await connection.context.connection.move_to_task()
    await trio.sleep_forever()
    return []


async def throttle(connection: Connection, frame: InMemory) -> list[Records]:
    connection.context.connection.mute(trio.current_time() + LONG)
    return [framed(bytes(frame))]


async def throttle_in_task(connection: Connection, frame: InMemory) -> list[Records]:
    """The connection is muted after it was told to stop."""
    await connection.context.connection.move_to_task()
    await trio.sleep(0.05)
    return await throttle(connection, frame)


async def fail(connection: Connection, frame: InMemory) -> list[Records]:
    raise ZeroDivisionError


async def hang_up(connection: Connection, frame: InMemory) -> list[Records]:
    raise CloseConnection("enough")


async def hang_up_in_task(connection: Connection, frame: InMemory) -> list[Records]:
    await connection.context.connection.move_to_task()
    raise CloseConnection("enough")


Answer = Callable[[Connection, InMemory], Awaitable[Any]]


CASES: list[tuple[Answer, bytes]] = [
    (echo, b""),
    (echo, framed(PRODUCE)),
    (echo, framed(PRODUCE) + struct.pack(">i", 900_000) + bytes(70_000)),
    (echo, struct.pack(">i", -5)),
    (park, framed(PRODUCE)),
    (hold, framed(PRODUCE)),
    (wait_in_task, framed(PRODUCE)),
    (throttle, framed(PRODUCE)),
    (throttle_in_task, framed(PRODUCE)),
    (fail, framed(PRODUCE)),
    (hang_up, framed(PRODUCE)),
    (hang_up_in_task, framed(PRODUCE)),
]
# Their sockets are not read meanwhile, so the client's end is not seen.
DEAF = (hold, wait_in_task, throttle, throttle_in_task)
ENDED = [
    (answer, sent, ending)
    for answer, sent in CASES
    for ending in ("the client closes", "stop", "abort")
    if not (ending == "the client closes" and answer in DEAF)
]


@pytest.mark.parametrize(
    ("answer", "sent", "ending"),
    ENDED,
    ids=[f"{answer.__name__}-{len(sent)} bytes-{ending}" for answer, sent, ending in ENDED],
)
@pytest.mark.usefixtures("no_collector")
@in_task_and_loop
async def test_a_closed_connection_is_gone(
    loop: Loop | None, answer: Answer, sent: bytes, ending: str
) -> None:
    async with connected(answer, loop) as (stream, connection):
        if sent:
            await stream.send_all(sent)
        await trio.sleep(0.01)
        if ending == "stop":
            connection.stop()
            if answer is wait_in_task:
                connection.abort()
        elif ending == "abort":
            connection.abort()
        else:
            await stream.send_eof()
        # The kernel resets a connection whose last bytes were not read.
        with trio.fail_after(LONG), suppress(trio.BrokenResourceError):
            await receive_all(stream)
        # The connection keeps it to its end. A compiled class has no weak references itself.
        gone = weakref.ref(connection.listener)
        del connection
        with trio.fail_after(LONG):
            while gone() is not None:  # noqa: ASYNC110 - there is no event for it
                await trio.sleep(0.01)
