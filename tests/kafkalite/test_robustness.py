"""Bad input closes the connection it came by, with one line in the log, and disturbs nobody."""

import logging
import socket
import struct

import pytest
import trio

from kafkalite.testing import broker as test_broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.api_versions import ApiVersionsRequest

GOOD = ApiVersionsRequest(client_software_name="a-client", client_software_version="1.0")


def frame(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def header(key: int, version: int) -> bytes:
    return struct.pack(">hhih", key, version, 1, 3) + b"bad"


BAD_INPUT = {
    "negative size": struct.pack(">i", -1),
    "giant size": struct.pack(">i", 2**31 - 1),
    "one more than socket.request.max.bytes": struct.pack(">i", 104857601),
    "unknown API": frame(header(999, 0)),
    "negative API key": frame(header(-1, 0)),
    "API of another listener": frame(header(ApiKey.VOTE, 0)),
    "version too high": frame(header(ApiKey.METADATA, 99)),
    "version too low": frame(header(ApiKey.FETCH, 3)),
    "Produce 0": frame(header(ApiKey.PRODUCE, 0) + struct.pack(">hii", 1, 1000, 0)),
    "Produce 2": frame(header(ApiKey.PRODUCE, 2) + struct.pack(">hii", 1, 1000, 0)),
    "no header": frame(b""),
    "half a header": frame(b"\0\x12\0"),
    "garbage in the body": frame(header(ApiKey.LIST_OFFSETS, 1) + b"\xde\xad\xbe\xef" * 5),
    "a body cut short": frame(header(ApiKey.LIST_OFFSETS, 1) + b"\xff\xff\xff\xff\0\0"),
    "an HTTP request": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "a TLS hello": bytes.fromhex("16030100c8010000c40303") + bytes(200),
}


@pytest.mark.parametrize("sent", BAD_INPUT.values(), ids=BAD_INPUT.keys())
async def test_bad_input(clients, sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    other = await clients.connect()
    await other.ask(GOOD)
    caplog.clear()
    bad = await clients.connect()
    await bad.stream.send_all(sent)
    assert await bad.is_closed()
    assert await other.ask(GOOD)
    (record,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert "connection closed" in record.getMessage()
    assert "\n" not in record.getMessage()
    assert record.exc_info is None


async def test_a_half_sent_frame_holds_nobody_up(clients) -> None:
    half = await clients.connect()
    await half.stream.send_all(struct.pack(">i", 1000) + b"half")
    other = await clients.connect()
    for _ in range(3):
        assert await other.ask(GOOD)


async def test_requests_after_bad_input_are_not_looked_at(clients) -> None:
    bad = await clients.connect()
    await bad.send(GOOD)
    await bad.stream.send_all(frame(header(999, 0)))
    await bad.stream.send_all(frame(header(ApiKey.API_VERSIONS, 0)))
    assert await bad.answer()
    with pytest.raises((AssertionError, trio.BrokenResourceError)):
        await bad.frame()


async def test_many_connections_that_say_nothing(
    broker: test_broker, clients, autojump_clock: trio.testing.MockClock
) -> None:
    """Thousands are tried in conformance/; here, that each is closed when it was idle too long."""
    host, _, port = broker.bootstrap.rpartition(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(200)]
    try:
        busy = await clients.connect()
        for _ in range(12):  # 720 seconds; connections.max.idle.ms is 600
            await busy.ask(GOOD)
            await trio.sleep(60)
        for sock in silent:
            sock.settimeout(0)
            assert sock.recv(1) == b""
        assert await busy.ask(GOOD)
    finally:
        for sock in silent:
            sock.close()


async def test_no_more_connections_than_allowed(connect) -> None:
    async with test_broker({"max.connections": 2}) as running:
        first, second = await connect(running), await connect(running)
        await first.ask(GOOD)
        await second.ask(GOOD)
        third = await connect(running)
        await third.send(GOOD)
        with trio.move_on_after(0.05) as scope:
            await third.answer()
        assert scope.cancelled_caught
        third._asked.append((18, 4))
        await first.stream.aclose()
        assert await third.answer()


async def test_no_more_connections_from_one_address_than_allowed(connect) -> None:
    limits = {"max.connections.per.ip": 0, "max.connections.per.ip.overrides": "127.0.0.1:1"}
    async with test_broker(limits) as running:
        first = await connect(running)
        await first.ask(GOOD)
        second = await connect(running)
        assert await second.is_closed()
        assert await first.ask(GOOD)
