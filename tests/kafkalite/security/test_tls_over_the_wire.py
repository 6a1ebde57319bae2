"""TLS over real connections: who gets in, and what those see who do not speak it."""

from __future__ import annotations

import logging
import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest
import trio

from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_acls import CreateAclsRequest
from kafkalite.wire.messages.metadata import MetadataRequest
from tests.kafkalite.conftest import Client
from tests.kafkalite.fetching import ALIVE, answers, batch, fetch, produce, values

ALL = MetadataRequest(topics=None)


@pytest.fixture
async def secured() -> AsyncIterator[broker]:
    async with broker({"connections.max.idle.ms": "1000"}, tls="auto", acls=True) as running:
        running.create_topic("words", partitions=1)
        yield running


def address(running: broker) -> tuple[str, int]:
    host, _, port = running.bootstrap.rpartition(":")
    return host, int(port)


async def plain(running: broker) -> trio.SocketStream:
    return await trio.open_tcp_stream(*address(running))


async def with_tls(running: broker, *, certificate: bool = True) -> Client:
    settings = running.client_settings["librdkafka"]
    context = ssl.create_default_context(cafile=settings["ssl.ca.location"])
    if certificate:
        context.load_cert_chain(settings["ssl.certificate.location"])
    stream: Any = trio.SSLStream(await plain(running), context, server_hostname=address(running)[0])
    await stream.do_handshake()
    return Client(stream)


async def is_served(running: broker) -> bool:
    """Whether others get their answers."""
    client = await with_tls(running)
    return (await client.ask(ALL)).error_code == ErrorCode.NONE


async def test_the_certificate_says_who_it_is(secured: broker) -> None:
    known = await with_tls(secured)
    nobody = await with_tls(secured, certificate=False)
    request = CreateAclsRequest(creations=[])
    assert (await known.ask(request)).results == []
    assert [topic.name for topic in (await known.ask(ALL)).topics] == ["words"]
    assert (await nobody.ask(ALL)).topics == []


async def test_large_records_go_both_ways(secured: broker) -> None:
    client = await with_tls(secured)
    value = bytes(range(256)) * 3000
    await produce(client, batch(value))
    answer = await client.ask(fetch({0: 0}, max_bytes=1 << 22), 12)
    assert values(answers(answer)[0].records) == [value]


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        bytes.fromhex("0000001200120003000000010004746573740000000100"),
        bytes.fromhex("16030100c8010000c40303") + bytes(300),
        bytes.fromhex("15030300020100"),
        bytes(64),
    ],
)
async def test_what_is_not_tls_is_closed(
    secured: broker, sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    stream = await plain(secured)
    await stream.send_all(sent)
    with trio.fail_after(10):
        while await _received(stream):
            pass
    assert await is_served(secured)
    assert not [each for each in caplog.records if each.levelno >= logging.ERROR]


async def _received(stream: trio.SocketStream) -> bytes:
    try:
        return bytes(await stream.receive_some(1000))
    except trio.BrokenResourceError:
        return b""


async def test_half_handshakes_hold_up_nobody_and_end(secured: broker) -> None:
    streams = [await plain(secured) for _ in range(100)]
    for stream in streams:
        await stream.send_all(bytes.fromhex("16030100c8010000"))
    assert await is_served(secured)
    with trio.fail_after(20):
        for stream in streams:
            assert await _received(stream) == b""


async def test_tls_sent_to_a_plain_listener_is_closed() -> None:
    async with broker() as running:
        context = ssl.create_default_context()
        stream = trio.SSLStream(await plain(running), context, server_hostname="localhost")
        with trio.fail_after(10), pytest.raises(trio.BrokenResourceError):
            await stream.do_handshake()
        assert (await Client(await plain(running)).ask(ALIVE, 3)).error_code == ErrorCode.NONE


async def test_a_connection_cut_within_a_record_is_gone(secured: broker) -> None:
    client = await with_tls(secured)
    await client.ask(ALL)
    inner = client.stream.transport_stream  # type: ignore[attr-defined]
    await inner.send_all(bytes.fromhex("1703030100") + bytes(10))
    await inner.aclose()
    assert await is_served(secured)
