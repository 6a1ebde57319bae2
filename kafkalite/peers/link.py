"""A connection to another node that is made when it is needed, and again after it broke.

    answer = await link.ask(request, timeout_seconds=30)

Raises PeerGone for everything that keeps an answer away. The connection is closed then: an answer
that comes late would be taken for another's.
"""

from __future__ import annotations

import select
from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import inf
from typing import Any, Final, NamedTuple

import trio

from kafkalite.peers.exchange import Exchange, Unserved
from kafkalite.wire.errors import ProtocolViolation

_READ_BYTES: Final = 1 << 20


class PeerGone(Exception):
    """Another node did not answer; the message says why."""


class Address(NamedTuple):
    """The host and port at which a node listens."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Connection(NamedTuple):
    """A connection that was made. Requests may begin on it until then, by trio's clock."""

    stream: trio.abc.Stream
    usable_until: float = inf


Connect = Callable[[Address], Awaitable[Connection]]


def _is_hung_up(stream: trio.abc.Stream) -> bool:
    """True if the other side has closed the connection, as a broker does that is started again."""
    if isinstance(stream, trio.SSLStream):
        return _is_hung_up(stream.transport_stream)
    if not isinstance(stream, trio.SocketStream):
        return False
    asked = select.poll()
    asked.register(stream.socket.fileno(), select.POLLRDHUP)
    return bool(asked.poll(0))


async def connect_tcp(address: Address) -> Connection:
    """A plain TCP connection. Raises OSError."""
    return Connection(await trio.open_tcp_stream(address.host, address.port))


async def exchanged(stream: trio.abc.Stream, exchange: Exchange, body: object) -> Any:
    """The answer to a request. Raises what trio's streams raise, ProtocolViolation, Unserved."""
    await stream.send_all(exchange.request(body))
    while True:
        data = await stream.receive_some(_READ_BYTES)
        if not data:
            raise trio.BrokenResourceError("the connection was closed")
        answer = exchange.receive(data)
        if answer is not None:
            return answer


class Link:
    """One request at a time to one node at a time. `name` is the client id there."""

    def __init__(self, name: str, connect: Connect) -> None:
        self._name = name
        self._connect = connect
        self._turn = trio.Lock()
        self._address: Address | None = None
        self._connection: Connection | None = None
        self._exchange = Exchange(name)

    async def ask(self, address: Address, body: object, *, timeout_seconds: float) -> Any:
        """The answer to a request. Raises PeerGone, after which the connection is closed.

        `timeout_seconds` counts from the moment that the requests before this one are answered.
        """
        async with self._turn:
            is_answered = False
            try:
                with trio.fail_after(timeout_seconds):
                    stream = await self._stream_to(address)
                    answer = await exchanged(stream, self._exchange, body)
                is_answered = True
                return answer
            except trio.TooSlowError:
                raise PeerGone(f"{address}: no answer in {timeout_seconds:g} s") from None
            except (OSError, trio.BrokenResourceError, trio.ClosedResourceError) as error:
                raise PeerGone(f"{address}: {error or type(error).__name__}") from error
            except (ProtocolViolation, Unserved) as error:
                raise PeerGone(f"{address}: {error}") from error
            finally:
                if not is_answered:
                    await self._drop()

    async def close(self) -> None:
        """Give the connection back; the next `ask` makes another."""
        with trio.CancelScope(shield=True):
            async with self._turn:
                await self._drop()

    async def _stream_to(self, address: Address) -> trio.abc.Stream:
        """The connection that is open, if it leads there and is still good, else a new one."""
        known = self._connection
        is_good = known is not None and trio.current_time() < known.usable_until
        if known and is_good and self._address == address and not _is_hung_up(known.stream):
            return known.stream
        await self._drop()
        self._address = address
        self._exchange = exchange = Exchange(self._name)
        self._connection = made = await self._connect(address)
        exchange.versions_received(
            await exchanged(made.stream, exchange, exchange.versions_request())
        )
        return made.stream

    async def _drop(self) -> None:
        connection, self._connection, self._address = self._connection, None, None
        self._exchange.close()
        if connection is not None:
            with trio.CancelScope(shield=True), suppress(OSError, trio.BrokenResourceError):
                await trio.aclose_forcefully(connection.stream)
