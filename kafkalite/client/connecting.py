"""Clients of a control port elsewhere: `Client` waits, `AsyncClient` is awaited in trio and
asyncio.

client = Client("http://127.0.0.1:9644", token)
client.wait.group("billing", members=3)
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import h11
import trio

from kafkalite.client.async_kit import AsyncKit
from kafkalite.client.kit import Kit
from kafkalite.client.local import in_trio
from kafkalite.client.wire import Address, Exchange
from kafkalite.config.ready_file import newest
from kafkalite.control.sightings import Sighting

_RECEIVE_BYTES = 65536
# Longer than any verb takes, but for a wait, which brings its own limit.
_PATIENCE_SECONDS = 3700.0
# A stream that has nothing new says so every 15 s.
_SILENCE_SECONDS = 60.0


class Client(Kit):
    """The verbs of one cluster over HTTP. Each verb is one connection."""

    def __init__(self, url: str, token: str, cluster: str = "default") -> None:
        super().__init__(self._exchange, cluster)
        self._address = Address.of(url)
        self._token = token

    @classmethod
    def of_ready_file(cls, path: str | Path, cluster: str = "default") -> Client:
        """A client of the broker that wrote this ready file. Raises OSError and KeyError."""
        return cls(*read_ready_file(Path(path)), cluster)

    def on(self, cluster: str) -> Client:
        """The verbs of another cluster of the same process."""
        host = f"[{self._address.host}]" if ":" in self._address.host else self._address.host
        return Client(f"http://{host}:{self._address.port}", self._token, cluster)

    def _exchange(self, verb: str, cluster: str, /, **fields: Any) -> Any:
        exchange = Exchange(self._address, self._token, verb, cluster, fields)
        address = (self._address.host, self._address.port)
        with socket.create_connection(address, timeout=_PATIENCE_SECONDS) as connection:
            # A server that refuses need not have read all of it.
            with suppress(ConnectionError):
                for data in exchange.sending():
                    connection.sendall(data)
            while not exchange.is_done:
                _receive(exchange, connection.recv(_RECEIVE_BYTES))
        return exchange.answer()

    def stream(self, **wanted: Any) -> Iterator[Sighting]:
        """Requests and events as they come: `for seen in client.stream(api="Produce"): ...`.

        `wanted` has the fields of sightings.Follow. Raises Problem, and OSError when it breaks off.
        """
        exchange = Exchange(self._address, self._token, "stream", self.cluster, wanted)
        address = (self._address.host, self._address.port)
        with socket.create_connection(address, timeout=_SILENCE_SECONDS) as connection:
            connection.sendall(b"".join(exchange.sending()))
            while not exchange.is_done:
                _receive(exchange, connection.recv(_RECEIVE_BYTES))
                yield from exchange.messages()
        exchange.check()


def _receive(exchange: Exchange, data: bytes) -> None:
    """Take in a part of an answer. Raises ConnectionError if it ends before its end."""
    try:
        exchange.receive(data)
    except h11.RemoteProtocolError:
        raise ConnectionError("the control port has gone") from None


class AsyncClient(AsyncKit):
    """The same, awaited."""

    def __init__(self, url: str, token: str, cluster: str = "default") -> None:
        super().__init__(self._exchange, cluster)
        self._address = Address.of(url)
        self._token = token

    async def _exchange(self, verb: str, cluster: str, /, **fields: Any) -> Any:
        exchange = Exchange(self._address, self._token, verb, cluster, fields)
        connection = await (_TrioBytes if in_trio() else _AsyncioBytes).to(self._address)
        try:
            with suppress(ConnectionError):
                for data in exchange.sending():
                    await connection.send(data)
            while not exchange.is_done:
                _receive(exchange, await connection.receive())
        finally:
            connection.close()
        return exchange.answer()

    async def stream(self, **wanted: Any) -> AsyncGenerator[Sighting]:
        """Requests and events as they come: `async for seen in client.stream(): ...`.

        `wanted` has the fields of sightings.Follow. Raises Problem, and OSError when it breaks off.
        """
        exchange = Exchange(self._address, self._token, "stream", self.cluster, wanted)
        connection = await (_TrioBytes if in_trio() else _AsyncioBytes).to(self._address)
        try:
            await connection.send(b"".join(exchange.sending()))
            while not exchange.is_done:
                _receive(exchange, await connection.receive())
                for message in exchange.messages():
                    yield message
        finally:
            connection.close()
        exchange.check()


class _TrioBytes:
    """A connection in trio."""

    def __init__(self, socket: trio.socket.SocketType) -> None:
        self._socket = socket

    @classmethod
    async def to(cls, address: Address) -> Self:
        stream = await trio.open_tcp_stream(address.host, address.port)
        return cls(stream.socket)

    async def send(self, data: bytes) -> None:
        while data:
            data = data[await self._socket.send(data) :]

    async def receive(self) -> bytes:
        """The next bytes; none at the end."""
        return await self._socket.recv(_RECEIVE_BYTES)

    def close(self) -> None:
        self._socket.close()


class _AsyncioBytes:
    """A connection in asyncio."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, address: Address) -> Self:
        return cls(*await asyncio.open_connection(address.host, address.port))

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def receive(self) -> bytes:
        """The next bytes; none at the end."""
        return await self._reader.read(_RECEIVE_BYTES)

    def close(self) -> None:
        self._writer.close()


def read_ready_file(path: Path) -> tuple[str, str]:
    """URL and token of a control port. Raises OSError, and KeyError if the broker has none."""
    control = json.loads(path.read_text())["control"]
    return control["url"], control["token"]


def from_environment() -> tuple[str, str]:
    """URL and token by KAFKALITE_URL and KAFKALITE_TOKEN, or by KAFKALITE_READY_FILE; else those of
    the user's broker that started last.

    Raises KeyError if there is none of these, and OSError.
    """
    if "KAFKALITE_URL" in os.environ:
        return os.environ["KAFKALITE_URL"], os.environ["KAFKALITE_TOKEN"]
    if "KAFKALITE_READY_FILE" not in os.environ:
        running = newest(os.environ, "control")
        if running is not None:
            return read_ready_file(running)
    return read_ready_file(Path(os.environ["KAFKALITE_READY_FILE"]))
