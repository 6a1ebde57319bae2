"""One connection to a dispatcher that answers as a test wants it to."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import trio

from kafkalite.config.listeners import Listener as ListenerConfig
from kafkalite.requests.suspension import ResponseCoroutine
from kafkalite.server.connection import Connection
from kafkalite.server.listener import Listener
from kafkalite.server.poller import Poller
from kafkalite.wire.fields import InMemory, Records

LISTENER = ListenerConfig("PLAINTEXT", "localhost", 9092, "PLAINTEXT")

PRODUCE = b"\0\0"  # the key of an API that never waits
FETCH = b"\0\1"  # of one that may find out that it has to
JOIN_GROUP = b"\0\x0b"  # and of one that is not tried at once

Answer = Callable[[Connection, InMemory], ResponseCoroutine]


def framed(*bodies: bytes) -> bytes:
    return b"".join(struct.pack(">i", len(body)) + body for body in bodies)


class Dispatcher:
    """Answers as it is told."""

    def __init__(self, answer: Answer) -> None:
        self.respond = answer


async def echo(connection: Connection, frame: InMemory) -> list[Records]:
    return [framed(bytes(frame))]


@asynccontextmanager
async def connected(
    answer: Answer = echo, *, patient: bool = False
) -> AsyncIterator[tuple[trio.SocketStream, Connection]]:
    """A client's stream, and the connection serving its other end."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    listener = Listener(1, LISTENER, ours, "localhost", 9092)
    poller = Poller(patient=patient)
    connection = Connection(ours, ("10.0.0.1", 5555), listener, poller, Dispatcher(answer), 1 << 20)
    stream = trio.SocketStream(trio.socket.from_stdlib_socket(theirs))
    async with stream, trio.open_nursery() as nursery:
        nursery.start_soon(poller.run)
        nursery.start_soon(connection.run)
        yield stream, connection
        nursery.cancel_scope.cancel()
    poller.close()


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
