"""TLS under a connection: who gets in, what those see who do not speak it, and what is sent."""

from __future__ import annotations

import gc
import logging
import os
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.server.tls_transport import _MOST_AT_ONCE, TlsTransport
from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_acls import CreateAclsRequest
from kafkalite.wire.messages.metadata import MetadataRequest
from tests.kafkalite.conftest import Client
from tests.kafkalite.fetching import ALIVE, answers, batch, fetch, produce, values
from tests.kafkalite.security.certificates import Authority
from tests.kafkalite.server.tls_ends import ALICE, Asked, Ends, client_context

ALL = MetadataRequest(topics=None)
# More than one call of OpenSSL takes.
LARGE = bytes(range(256)) * 1000


class Streams:
    """Connections to a broker, with TLS and without, closed at the end of the test."""

    def __init__(self, running: broker, stack: AsyncExitStack) -> None:
        self._settings = running.client_settings.get("librdkafka", {})
        host, _, port = running.bootstrap.rpartition(":")
        self._address = (host, int(port))
        self._stack = stack

    async def plain(self) -> trio.SocketStream:
        return await self._stack.enter_async_context(await trio.open_tcp_stream(*self._address))

    async def with_tls(self, *, certificate: bool = True) -> Client:
        client, _ = await self.both(certificate=certificate)
        return client

    async def both(self, *, certificate: bool = True) -> tuple[Client, trio.SocketStream]:
        """A client, and the stream below its TLS."""
        context = ssl.create_default_context(cafile=self._settings["ssl.ca.location"])
        if certificate:
            context.load_cert_chain(self._settings["ssl.certificate.location"])
        below = await self.plain()
        stream: Any = trio.SSLStream(below, context, server_hostname=self._address[0])
        await stream.do_handshake()
        return Client(stream), below

    async def is_served(self) -> bool:
        """True if others get their answers."""
        client = await self.with_tls()
        return bool((await client.ask(ALL)).error_code == ErrorCode.NONE)


@pytest.fixture
async def streams() -> AsyncIterator[Streams]:
    configs = {"connections.max.idle.ms": "1000"}
    async with (
        broker(configs, tls="auto", acls=True) as running,
        AsyncExitStack() as stack,
    ):
        running.create_topic("words", partitions=1)
        yield Streams(running, stack)


async def test_the_certificate_says_who_it_is(streams: Streams) -> None:
    known = await streams.with_tls()
    unknown = await streams.with_tls(certificate=False)
    assert (await known.ask(CreateAclsRequest(creations=[]))).results == []
    assert [topic.name for topic in (await known.ask(ALL)).topics] == ["words"]
    assert (await unknown.ask(ALL)).topics == []


async def test_large_records_go_both_ways(streams: Streams) -> None:
    client = await streams.with_tls()
    await produce(client, batch(LARGE))
    answer = await client.ask(fetch({0: 0}, max_bytes=1 << 22), 12)
    assert values(answers(answer)[0].records) == [LARGE]


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        bytes.fromhex("0000001200120003000000010004746573740000000100"),
        bytes.fromhex("16030100c8010000c40303") + bytes(300),
        bytes.fromhex("15030300020100"),
        bytes(64),
    ],
    ids=["http", "a request", "a broken hello", "an alert", "zeros"],
)
async def test_what_is_not_tls_is_closed(
    streams: Streams, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    stream = await streams.plain()
    await stream.send_all(sent)
    with trio.fail_after(10):
        while await received(stream):
            pass
    assert await streams.is_served()
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]


async def received(stream: trio.SocketStream) -> bytes:
    try:
        return bytes(await stream.receive_some(1000))
    except trio.BrokenResourceError:
        return b""


@pytest.mark.slow
async def test_half_handshakes_do_not_hold_up_others_and_end(streams: Streams) -> None:
    half = [await streams.plain() for _ in range(100)]
    for stream in half:
        await stream.send_all(bytes.fromhex("16030100c8010000"))
    assert await streams.is_served()
    with trio.fail_after(20):
        for stream in half:
            assert await received(stream) == b""


async def test_tls_sent_to_a_plain_listener_is_closed() -> None:
    async with broker() as running, AsyncExitStack() as stack:
        streams = Streams(running, stack)
        context = ssl.create_default_context()
        stream = trio.SSLStream(await streams.plain(), context, server_hostname="localhost")
        with trio.fail_after(10), pytest.raises(trio.BrokenResourceError):
            await stream.do_handshake()
        answer = await Client(await streams.plain()).ask(ALIVE, 3)
        assert answer.error_code == ErrorCode.NONE


async def test_a_connection_cut_within_a_record_is_gone(streams: Streams) -> None:
    client, below = await streams.both()
    await client.ask(ALL)
    await below.send_all(bytes.fromhex("1703030100") + bytes(10))
    await below.aclose()
    assert await streams.is_served()


@pytest.fixture
def connected(tmp_path: Path) -> Iterator[Ends]:
    ends = Ends(client_context(tmp_path, ALICE))
    ends.connect()
    yield ends
    ends.close()


def test_the_certificate_is_told_once_the_handshake_is_done(
    connected: Ends, tmp_path: Path
) -> None:
    assert connected.client is not None
    assert connected.told == [ssl.PEM_cert_to_DER_cert(ALICE.certificate)]
    bare = Ends(client_context(tmp_path, None))
    bare.connect()
    assert bare.told == [None]
    bare.close()


def test_a_certificate_of_another_authority_fails_the_handshake(tmp_path: Path) -> None:
    ends = Ends(client_context(tmp_path, Authority().client("alice")))
    with pytest.raises(ssl.SSLError):
        ends.connect()
    (reason,) = ends.told
    assert reason.startswith("TLS handshake: the client's certificate: ")
    ends.close()


def test_a_client_may_be_refused_for_its_certificate(tmp_path: Path) -> None:
    ends = Ends(client_context(tmp_path, ALICE), refusal="no rule")
    with pytest.raises(ConnectionRefusedError, match="no rule"):
        ends.connect()
    ends.close()


def test_what_openssl_holds_is_input(connected: Ends) -> None:
    """Epoll knows nothing of bytes that were read from the socket with others."""
    assert connected.client is not None
    connected.client.sendall(b"abcdef")
    assert connected.transport.recv(2) == b"ab"
    assert connected.transport.has_input
    room = bytearray(10)
    assert connected.transport.recv_into(memoryview(room)) == 4
    assert room[:4] == b"cdef"
    assert not connected.transport.has_input
    with pytest.raises(BlockingIOError):
        connected.transport.recv(1)
    with pytest.raises(BlockingIOError):
        connected.transport.recv_into(memoryview(room))


def test_several_records_are_received_at_once_and_then_the_end(connected: Ends) -> None:
    assert connected.client is not None
    sent = LARGE[:60_000]  # in four records
    connected.client.sendall(sent)
    connected.client.shutdown(socket.SHUT_WR)
    room = bytearray(100_000)
    assert connected.transport.recv_into(memoryview(room)) == len(sent)
    assert room[: len(sent)] == sent
    assert connected.transport.recv_into(memoryview(room)) == 0
    assert connected.transport.recv(1) == b""


def test_the_socket_is_asked_once_for_many_records(connected: Ends) -> None:
    assert connected.client is not None
    connected.client.sendall(LARGE[:60_000])
    asked: Any = Asked(connected.transport._socket)
    connected.transport._socket = asked
    room = bytearray(100_000)
    assert connected.transport.recv_into(memoryview(room)) == 60_000
    assert asked.count == 1
    # A whole record is asked for, however little room is left.
    connected.client.sendall(LARGE[:9_000])
    assert connected.transport.recv_into(memoryview(room)[:10]) == 10
    assert connected.transport.has_input
    assert connected.transport.recv_into(memoryview(room)) == 8_990
    assert asked.count == 3  # the last one in vain


def test_a_broken_record_fails_the_call_after_the_good_ones(connected: Ends) -> None:
    assert connected.client is not None
    connected.client.sendall(b"good")
    below = socket.socket(fileno=os.dup(connected.client.fileno()))
    below.sendall(bytes.fromhex("1703030020") + bytes(32))
    below.close()
    room = bytearray(100)
    assert connected.transport.recv_into(memoryview(room)) == 4
    assert connected.transport.has_input
    with pytest.raises(ssl.SSLError):
        connected.transport.recv_into(memoryview(room))
    with pytest.raises(ssl.SSLError):
        connected.transport.recv(1)


def test_everything_is_sent_in_parts(connected: Ends, tmp_path: Path) -> None:
    transport = connected.transport
    size = len(LARGE)
    assert connected.until_sent(lambda at: transport.send(LARGE[at:], 0), size) == LARGE

    def send_buffers(at: int) -> int:
        rest = memoryview(LARGE)[at:]
        return transport.send_buffers([rest[:1000], rest[1000:2000], rest[2000:]], 0)

    assert connected.until_sent(send_buffers, size) == LARGE
    path = tmp_path / "file"
    path.write_bytes(LARGE)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        sent = connected.until_sent(lambda at: transport.send_file(descriptor, at, size - at), size)
        assert sent == LARGE
        assert transport.send_file(descriptor, size, 10) == 0, "a file that was cut short"
    finally:
        os.close(descriptor)
    assert transport.send(b"", 0) == 0


def test_a_full_socket_blocks(connected: Ends) -> None:
    def send_without_end() -> None:
        while True:
            connected.transport.send(LARGE, 0)

    with pytest.raises(BlockingIOError):
        send_without_end()


def test_what_the_socket_does_not_take_is_kept(connected: Ends) -> None:
    assert connected.client is not None
    taken = 0
    with suppress(BlockingIOError):
        while True:
            taken += connected.transport.send(LARGE, 0)
    assert connected.transport.has_output
    assert taken > len(LARGE)
    descriptor = os.open(__file__, os.O_RDONLY)
    with pytest.raises(BlockingIOError):
        connected.transport.send_file(descriptor, 0, 10)
    os.close(descriptor)
    got = connected.until_sent(lambda at: taken, taken)
    part = LARGE[:_MOST_AT_ONCE]
    assert got == (part * (taken // len(part) + 1))[:taken]
    assert not connected.transport.has_output


def test_closing_says_that_nothing_was_cut_off(connected: Ends) -> None:
    assert connected.client is not None
    connected.transport.close()
    connected.client.settimeout(5)
    assert connected.client.recv(10) == b""
    assert connected.transport.fileno() == -1


def test_the_client_s_goodbye_ends_the_input(connected: Ends) -> None:
    assert connected.client is not None
    connected.client.setblocking(False)
    with pytest.raises((ssl.SSLWantReadError, BlockingIOError)):
        connected.client.unwrap()
    assert connected.transport.recv(10) == b""
    assert connected.transport.recv_into(memoryview(bytearray(10))) == 0


async def test_a_closed_connection_is_gone_without_the_garbage_collector(tmp_path: Path) -> None:
    """Thousands of half handshakes leave no memory that waits to be collected."""
    async with broker(tls="auto") as running, AsyncExitStack() as stack:
        streams = Streams(running, stack)
        gc.collect()
        gc.disable()
        try:
            for hello in (b"", b"GET / HTTP/1.1\r\n\r\n", bytes.fromhex("16030100c8010000")):
                below = await streams.plain()
                await below.send_all(hello or b"\x16")
                await below.aclose()
            client = await streams.with_tls()
            await client.ask(ALL)
            await client.stream.aclose()
            end = trio.current_time() + 5
            while living(TlsTransport) and trio.current_time() < end:  # noqa: ASYNC110 - no event
                await trio.sleep(0.01)
            assert not living(TlsTransport)
        finally:
            gc.enable()


def living(kind: type) -> int:
    """The objects of a class that there are, garbage included."""
    return sum(isinstance(each, kind) for each in gc.get_objects())
