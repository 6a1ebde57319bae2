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
from pathlib import Path
from typing import Any

import trio

from kafkalite.client.async_kit import AsyncKit
from kafkalite.client.kit import Kit
from kafkalite.client.local import in_trio
from kafkalite.client.wire import Address, Exchange

_RECEIVE_BYTES = 65536
# Longer than any verb takes, but for a wait, which brings its own limit.
_PATIENCE_SECONDS = 3700.0


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
            connection.sendall(exchange.request())
            while not exchange.is_done:
                exchange.receive(connection.recv(_RECEIVE_BYTES))
        return exchange.answer()


class AsyncClient(AsyncKit):
    """The same, awaited."""

    def __init__(self, url: str, token: str, cluster: str = "default") -> None:
        super().__init__(self._exchange, cluster)
        self._address = Address.of(url)
        self._token = token

    async def _exchange(self, verb: str, cluster: str, /, **fields: Any) -> Any:
        exchange = Exchange(self._address, self._token, verb, cluster, fields)
        if in_trio():
            await self._in_trio(exchange)
        else:
            await self._in_asyncio(exchange)
        return exchange.answer()

    async def _in_trio(self, exchange: Exchange) -> None:
        stream = await trio.open_tcp_stream(self._address.host, self._address.port)
        async with stream:
            await stream.send_all(exchange.request())
            while not exchange.is_done:
                exchange.receive(await stream.receive_some(_RECEIVE_BYTES))

    async def _in_asyncio(self, exchange: Exchange) -> None:
        reader, writer = await asyncio.open_connection(self._address.host, self._address.port)
        try:
            writer.write(exchange.request())
            await writer.drain()
            while not exchange.is_done:
                exchange.receive(await reader.read(_RECEIVE_BYTES))
        finally:
            writer.close()


def read_ready_file(path: Path) -> tuple[str, str]:
    """URL and token of a control port. Raises OSError, and KeyError if the broker has none."""
    control = json.loads(path.read_text())["control"]
    return control["url"], control["token"]


def from_environment() -> tuple[str, str]:
    """URL and token by KAFKALITE_URL and KAFKALITE_TOKEN, or KAFKALITE_READY_FILE.

    Raises KeyError if there is neither, and OSError.
    """
    if "KAFKALITE_URL" in os.environ:
        return os.environ["KAFKALITE_URL"], os.environ["KAFKALITE_TOKEN"]
    return read_ready_file(Path(os.environ["KAFKALITE_READY_FILE"]))
