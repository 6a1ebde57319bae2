"""The HTTP server: requests one after another, and what is no request."""

from __future__ import annotations

import socket
import struct
from collections.abc import AsyncIterator
from http import HTTPStatus
from time import thread_time

import pytest
import trio
import trio.testing

from kafkalite.server.http import HttpRequest, HttpResponse, HttpServer, HttpStream, Send
from tests.kafkalite.longest_turn import longest_turn
from tests.kafkalite.until import until

# A body that is one byte too long, of one that is to be longer still.
LARGE = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n" + b"x" * ((1 << 20) + 1)


async def three(send: Send) -> None:
    for number in range(3):
        await send(f"part {number}\n".encode())


async def breaks(send: Send) -> None:
    await send(b"begun")
    raise KeyError("a mistake")


ENDED: list[str] = []


async def endless(send: Send) -> None:
    try:
        await send(b"begun")
        await trio.sleep_forever()
    finally:
        ENDED.append("endless")


async def flooding(send: Send) -> None:
    try:
        while True:
            await send(bytes(1 << 20))
    finally:
        ENDED.append("flooding")


STREAMS = {"/three": three, "/breaks": breaks, "/endless": endless, "/flooding": flooding}


def busy(seconds: float) -> None:
    began = thread_time()
    while thread_time() - began < seconds:
        pass


async def respond(request: HttpRequest) -> HttpResponse | HttpStream:
    if request.target in STREAMS:
        return HttpStream("text/event-stream", STREAMS[request.target])
    if request.target == "/mistaken":
        raise KeyError("a mistake")
    if request.target == "/unread":
        return HttpResponse(HTTPStatus.UNAUTHORIZED, b"refused", "text/plain")
    if request.target == "/long":
        busy(0.1)  # the hypervisor may take some of it
    size = len(await request.body.whole())
    said = f"{request.method} {request.target} {request.headers['host']} {size}"
    return HttpResponse(HTTPStatus.OK, said.encode(), "text/plain")


def refuse(status: HTTPStatus, detail: str) -> HttpResponse:
    return HttpResponse(status, b"refused", "text/plain")


@pytest.fixture
async def client(nursery: trio.Nursery) -> AsyncIterator[trio.SocketStream]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nursery.start_soon(HttpServer(respond, refuse).serve, listener.dup())
        async with await trio.open_tcp_stream("127.0.0.1", listener.getsockname()[1]) as stream:
            yield stream


async def received(client: trio.SocketStream, end: bytes) -> bytes:
    """All that comes, up to some text, or to the end of the connection."""
    data = b""
    with trio.fail_after(60):
        while not data.endswith(end) or not end:
            more = await client.receive_some()
            if not more:
                break
            data += more
    return data


async def test_requests_on_one_connection(client: trio.SocketStream) -> None:
    await client.send_all(b"GET /a?b HTTP/1.1\r\nHost: h\r\n\r\n")
    first = await received(client, b"0")
    assert first.startswith(b"HTTP/1.1 200 OK")
    assert first.endswith(b"\r\n\r\nGET /a?b h 0")
    assert b"Cache-Control: no-store" in first
    await client.send_all(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc")
    assert (await received(client, b"3")).endswith(b"\r\n\r\nPOST / h 3")


@pytest.mark.holds_the_loop
async def test_what_takes_long_is_seen_in_tests(client: trio.SocketStream) -> None:
    """The tasks of connections have the name of trio's own server."""
    with longest_turn() as longest:
        await client.send_all(b"GET /long HTTP/1.1\r\nHost: h\r\n\r\n")
        await received(client, b"0")
    assert longest.seconds > 0.02


async def test_a_head_has_no_body(client: trio.SocketStream) -> None:
    await client.send_all(b"HEAD / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
    answer = await received(client, b"")
    assert b"Content-Length: 10" in answer
    assert answer.endswith(b"\r\n\r\n")


async def test_a_client_that_waits_is_told_to_go_on(client: trio.SocketStream) -> None:
    head = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n"
    await client.send_all(head)
    assert (await received(client, b"\r\n\r\n")).startswith(b"HTTP/1.1 100")
    await client.send_all(b"x")
    assert (await received(client, b"1")).endswith(b"POST / h 1")


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\x00\x01\x02\r\n\r\n", 400),
        (b"GET /" + b"x" * 20_000, 431),
        (LARGE, 413),
    ],
)
async def test_what_is_no_request_ends_the_connection(
    client: trio.SocketStream, sent: bytes, status: int
) -> None:
    await client.send_all(sent)
    answer = await received(client, b"refused")
    assert answer.startswith(f"HTTP/1.1 {status}".encode())
    assert await client.receive_some() == b""


async def test_a_body_may_come_in_pieces(client: trio.SocketStream) -> None:
    head = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    await client.send_all(head + b"3\r\nabc\r\n")
    await client.send_all(b"2\r\nde\r\n0\r\n\r\n")
    assert (await received(client, b"5")).endswith(b"POST / h 5")


async def test_who_is_refused_hears_so_though_the_body_is_not_read(
    client: trio.SocketStream,
) -> None:
    head = b"PUT /unread HTTP/1.1\r\nHost: h\r\nContent-Length: 9000000\r\n\r\n"
    async with trio.open_nursery() as nursery:
        nursery.start_soon(client.send_all, head + bytes(9_000_000))
        answer = await received(client, b"")
    assert answer.startswith(b"HTTP/1.1 401")
    assert answer.endswith(b"refused")


async def test_a_mistake_of_ours_ends_one_request_only(
    client: trio.SocketStream, caplog: pytest.LogCaptureFixture
) -> None:
    host, port, *_ = client.socket.getpeername()
    await client.send_all(b"GET /mistaken HTTP/1.1\r\nHost: h\r\n\r\n")
    assert (await received(client, b"refused")).startswith(b"HTTP/1.1 500")
    assert [record.message for record in caplog.records] == ["a request over HTTP was not answered"]
    async with await trio.open_tcp_stream(host, port) as another:
        await another.send_all(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
        assert (await received(another, b"0")).endswith(b"GET /a h 0")


async def test_a_client_that_would_wait_is_refused_before_it_sends(
    client: trio.SocketStream,
) -> None:
    head = b"PUT /unread HTTP/1.1\r\nHost: h\r\nContent-Length: 9000000\r\n"
    await client.send_all(head + b"Expect: 100-continue\r\n\r\n")
    assert (await received(client, b"refused")).startswith(b"HTTP/1.1 401")


async def test_a_stream_comes_in_chunks_and_ends_the_connection(
    client: trio.SocketStream,
) -> None:
    await client.send_all(b"GET /three HTTP/1.1\r\nHost: h\r\n\r\n")
    answer = await received(client, b"")
    assert b"Content-Type: text/event-stream" in answer
    assert b"Content-Length" not in answer
    parts = b"".join(b"7\r\npart %d\n\r\n" % number for number in range(3))
    assert answer.endswith(b"\r\n\r\n" + parts + b"0\r\n\r\n")


async def test_a_head_of_a_stream_has_no_stream(client: trio.SocketStream) -> None:
    await client.send_all(b"HEAD /endless HTTP/1.1\r\nHost: h\r\n\r\n")
    assert (await received(client, b"")).endswith(b"\r\n\r\n")


async def test_a_stream_that_breaks_is_not_ended_as_a_whole_one(
    client: trio.SocketStream, caplog: pytest.LogCaptureFixture
) -> None:
    await client.send_all(b"GET /breaks HTTP/1.1\r\nHost: h\r\n\r\n")
    assert (await received(client, b"")).endswith(b"\r\n\r\n5\r\nbegun\r\n")
    assert "was not sent to its end" in caplog.text


@pytest.mark.parametrize("says_goodbye", [True, False])
async def test_a_stream_ends_when_its_client_has_gone(
    client: trio.SocketStream, says_goodbye: bool
) -> None:
    ENDED.clear()
    await client.send_all(b"GET /endless HTTP/1.1\r\nHost: h\r\n\r\n")
    await received(client, b"begun\r\n")
    if not says_goodbye:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    await client.aclose()
    await until(lambda: ENDED == ["endless"])


async def test_a_client_that_takes_nothing_is_left(
    client: trio.SocketStream, autojump_clock: trio.testing.MockClock
) -> None:
    ENDED.clear()
    began = trio.current_time()
    await client.send_all(b"GET /flooding HTTP/1.1\r\nHost: h\r\n\r\n")
    await until(lambda: ENDED)
    assert trio.current_time() - began >= 30
