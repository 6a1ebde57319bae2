"""One connection to a handler that answers as a test wants it to."""

from __future__ import annotations

import inspect
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from typing import Any

import pytest
import trio

from kafkalite.config.listeners import Listener as ListenerConfig
from kafkalite.requests.suspension import ResponseCoroutine
from kafkalite.server.connection import Connection
from kafkalite.server.host import Host, drive
from kafkalite.server.listener import Listener
from kafkalite.server.loop import Loop
from kafkalite.server.transport import PlainTransport
from kafkalite.wire.fields import InMemory, Records

LISTENER = ListenerConfig("PLAINTEXT", "localhost", 9092, "PLAINTEXT")

PRODUCE = b"\0\0"
FETCH = b"\0\1"
JOIN_GROUP = b"\0\x0b"

Answer = Callable[[Connection, InMemory], "list[Records] | ResponseCoroutine"]


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


class WatchedListener(Listener, weakref=True):
    """A listener that is gone with its connection, and of which one can tell."""


class Handler:
    """Answers as it is told."""

    def __init__(self, answer: Answer) -> None:
        self.respond = answer


def echo(connection: Connection, frame: InMemory) -> list[Records]:
    return [framed(bytes(frame))]


@asynccontextmanager
async def connected(
    answer: Answer = echo, loop: Loop | None = None
) -> AsyncIterator[tuple[trio.SocketStream, Connection]]:
    """A client's stream, and the connection serving its other end.

    `loop` is the host's where the test is its guest; without one a task drives another.
    """
    ours, theirs = socket.socketpair()
    is_ours = loop is None
    loop = loop or Loop()
    stream = trio.SocketStream(trio.socket.from_stdlib_socket(theirs))
    async with stream, trio.open_nursery() as nursery:
        if is_ours:
            nursery.start_soon(drive, loop)
        # Until it is closed; then nothing here keeps it alive.
        is_open: list[Connection] = []
        is_open.append(
            Connection(
                PlainTransport.over(ours),
                ("10.0.0.1", 5555),
                WatchedListener(1, LISTENER, ours, "localhost", 9092),
                loop,
                Handler(answer),
                max_frame_bytes=1 << 20,
                spawn=lambda function, name: nursery.start_soon(function, name=name),
                closed=lambda _: is_open.clear(),
            )
        )
        try:
            yield stream, is_open[0]
        finally:
            for connection in tuple(is_open):
                connection.abort()
            nursery.cancel_scope.cancel()
    if is_ours:
        loop.close()


def hosted(test: Callable[[Loop], Awaitable[None]]) -> None:
    """Run a test as the guest of a host, with the host's loop; raises what it raises."""
    host = Host()
    try:
        host.run(test, host.loop)
    finally:
        host.close()


def in_task_and_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a test twice: the loop in a task of trio's, and trio as a guest of the loop's host.

    The test's first argument, `loop`, is for `connected`.
    """

    @wraps(test)
    def run(*args: Any, in_loop: bool, **settings: Any) -> None:
        async def check(loop: Loop | None) -> None:
            await test(loop, *args, **settings)

        if in_loop:
            hosted(check)
        else:
            trio.run(check, None)

    signature = inspect.signature(test)
    _, *others = signature.parameters.values()
    added = inspect.Parameter("in_loop", inspect.Parameter.KEYWORD_ONLY)
    # pytest asks what the arguments are, and whether it is a coroutine function.
    del run.__wrapped__
    vars(run)["__signature__"] = signature.replace(parameters=[*others, added])
    return pytest.mark.parametrize("in_loop", [False, True], ids=["task", "loop"])(run)


async def receive(stream: trio.SocketStream, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = await stream.receive_some(size - len(data))
        if not more:
            break
        data += more
    return data


async def receive_all(stream: trio.SocketStream) -> bytes:
    return b"".join([piece async for piece in stream])
