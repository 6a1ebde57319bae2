"""A running broker in the test's own trio, and a client that speaks the protocol to it."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
import trio

from kafkalite.apis import APIS
from kafkalite.testing import broker as test_broker
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.record_batch import Record, build_batch
from kafkalite.wire.schema import message_of
from tests.kafkalite.few_partitions import FEW_PARTITIONS
from tests.kafkalite.held_loop import watched
from tests.kafkalite.transactional import (
    NONE,
    TOPIC,
    Transactional,
)


@pytest.fixture(autouse=True, scope="session")
def handlers_are_imported() -> None:
    """A broker in a test's own trio imports them where it stands, which takes its time."""
    for api in APIS.values():
        api.load()


@pytest.fixture(autouse=True)
def loop_is_not_held(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Nothing holds the loop of a broker for too long; `holds_the_loop` marks tests that do."""
    # Garbage of the tests before is not the broker's to collect: it takes 250 ms.
    gc.freeze()
    try:
        with watched(monkeypatch) as held:
            yield
    finally:
        gc.unfreeze()
    assert held == [] or request.node.get_closest_marker("holds_the_loop"), held


def batch(*values: bytes, timestamp: int = 1_600_000_000_000, **settings: Any) -> bytes:
    """A record batch as a producer sends it."""
    return build_batch([Record(timestamp=timestamp, value=value) for value in values], **settings)


class Client:
    """One connection to a broker: messages in, messages out."""

    def __init__(self, stream: trio.SocketStream, client_id: str = "test") -> None:
        self.stream = stream
        self.client_id = client_id
        self._correlation_id = 0
        self._asked: list[tuple[int, int]] = []

    async def ask(self, request: object, version: int | None = None) -> Any:
        """Send a request (in the highest version unless told) and wait for its answer."""
        await self.send(request, version)
        return await self.answer()

    async def send(self, request: object, version: int | None = None) -> None:
        await self.stream.send_all(self.framed(request, version))

    def framed(self, request: object, version: int | None = None) -> bytes:
        """The bytes of a request that is sent next."""
        message = message_of(type(request))
        key = message.key
        if version is None:
            version = message.max_version
        self._correlation_id += 1
        if getattr(request, "acks", None) != 0:
            self._asked.append((key, version))
        chunks = encode_request(key, version, self._correlation_id, self.client_id, request)
        return b"".join(map(bytes, chunks))

    async def answer(self) -> Any:
        """The answer to the oldest request that has none yet."""
        key, version = self._asked.pop(0)
        correlation_id, response = decode_response(key, version, await self.frame())
        assert correlation_id == self._correlation_id - len(self._asked)
        return response

    async def frame(self) -> bytes:
        return await self._receive(int.from_bytes(await self._receive(4)))

    async def _receive(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = await self.stream.receive_some(size - len(data))
            assert more, "the broker closed the connection"
            data += more
        return data

    async def is_closed(self) -> bool:
        """Wait for the broker to close; whether it did so without another word."""
        return await self.stream.receive_some(1) == b""


class Clients:
    """Connections to one broker, closed at the end of the test."""

    def __init__(self, running: test_broker) -> None:
        self.broker = running
        self._open: list[trio.SocketStream] = []

    async def connect(self, node_id: int = 1, client_id: str = "test") -> Client:
        host, _, port = self.broker.bootstrap.split(",")[node_id - 1].rpartition(":")
        stream = await trio.open_tcp_stream(host, int(port))
        self._open.append(stream)
        return Client(stream, client_id)

    async def close(self) -> None:
        for stream in self._open:
            await trio.aclose_forcefully(stream)


@pytest.fixture
async def broker(request: pytest.FixtureRequest) -> AsyncIterator[test_broker]:
    """A module that wants other configs names them `BROKER_CONFIGS`."""
    wanted = getattr(request.module, "BROKER_CONFIGS", {})
    async with test_broker({**FEW_PARTITIONS, **wanted}) as running:
        yield running


@pytest.fixture
async def clients(broker: test_broker) -> AsyncIterator[Clients]:
    clients = Clients(broker)
    yield clients
    await clients.close()


@pytest.fixture
async def client(clients: Clients) -> Client:
    return await clients.connect()


@pytest.fixture
async def connect() -> AsyncIterator[Callable[..., Awaitable[Client]]]:
    """Connect to a broker that the test runs itself: `await connect(broker, node_id)`."""
    used: list[Clients] = []

    async def connect(running: test_broker, node_id: int = 1, client_id: str = "test") -> Client:
        clients = Clients(running)
        used.append(clients)
        return await clients.connect(node_id, client_id)

    yield connect
    for clients in used:
        await clients.close()


@pytest.fixture
async def three() -> AsyncIterator[test_broker]:
    async with test_broker(FEW_PARTITIONS, nodes=3) as running:
        yield running


@pytest.fixture
async def writer(broker: test_broker, client: Any) -> Transactional:
    broker.create_topic(TOPIC, partitions=2)
    writer = Transactional(client)
    await writer.find_coordinators()
    assert await writer.init() is NONE
    return writer
