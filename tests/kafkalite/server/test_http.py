"""The HTTP server: requests one after another, and what is no request."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from http import HTTPStatus

import pytest
import trio

from kafkalite.server.http import HttpRequest, HttpResponse, HttpServer

# A body that is one byte too long, of one that is to be longer still.
LARGE = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n" + b"x" * ((1 << 20) + 1)


async def respond(request: HttpRequest) -> HttpResponse:
    said = f"{request.method} {request.target} {request.headers['host']} {len(request.body)}"
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
