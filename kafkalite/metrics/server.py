"""GET /metrics: h11 speaks HTTP, trio waits. One connection more or less, and never a thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

import h11
import trio

# A scraper's request is a few hundred bytes; a limit on everything.
_MAX_HEAD_BYTES: Final = 16_384
_RECEIVE_BYTES: Final = 4096
_MAX_CONNECTIONS: Final = 64
# A connection that sends nothing for this long is closed: longer than any scrape interval in use.
_IDLE_SECONDS: Final = 300.0

_TEXT: Final = "text/plain; charset=utf-8"

# From the Accept header to the body and its content type.
Render = Callable[[str], Awaitable[tuple[bytes, str]]]
Answer = tuple[HTTPStatus, bytes, str]


class MetricsServer:
    """Answers HTTP requests with what `render` makes."""

    def __init__(self, render: Render) -> None:
        self._render = render
        self._connections = 0

    async def serve(self, listener: trio.SocketListener) -> None:
        """Serve for ever."""
        await trio.serve_listeners(self._serve_connection, [listener])

    async def _serve_connection(self, stream: trio.SocketStream) -> None:
        self._connections += 1
        try:
            async with stream:
                if self._connections <= _MAX_CONNECTIONS:
                    await self._converse(stream)
        except (trio.BrokenResourceError, h11.LocalProtocolError):
            pass  # the client has gone
        finally:
            self._connections -= 1

    async def _converse(self, stream: trio.SocketStream) -> None:
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=_MAX_HEAD_BYTES)
        while True:
            try:
                request = await _next_request(connection, stream)
                if request is None:
                    return
                answer = await self._answer(request)
            except h11.RemoteProtocolError as error:
                status = HTTPStatus(error.error_status_hint)
                await _send(connection, stream, (status, f"{error}\n".encode(), _TEXT), b"GET")
                return
            await _send(connection, stream, answer, request.method)
            if connection.our_state is h11.MUST_CLOSE:
                return
            connection.start_next_cycle()

    async def _answer(self, request: h11.Request) -> Answer:
        path = request.target.partition(b"?")[0]
        if path != b"/metrics":
            return HTTPStatus.NOT_FOUND, b"The metrics are at /metrics\n", _TEXT
        if request.method not in (b"GET", b"HEAD"):
            return HTTPStatus.METHOD_NOT_ALLOWED, b"GET /metrics\n", _TEXT
        accept = b",".join(value for name, value in request.headers if name == b"accept")
        body, content_type = await self._render(accept.decode("latin-1"))
        return HTTPStatus.OK, body, content_type


async def _next_request(
    connection: h11.Connection, stream: trio.SocketStream
) -> h11.Request | None:
    """The next request, read to its end; None when there will be none. Raises
    RemoteProtocolError."""
    request: h11.Request | None = None
    with trio.move_on_after(_IDLE_SECONDS):
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                connection.receive_data(await stream.receive_some(_RECEIVE_BYTES))
            elif isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.EndOfMessage):
                return request
            elif isinstance(event, h11.ConnectionClosed):
                return None
    return None


async def _send(
    connection: h11.Connection, stream: trio.SocketStream, answer: Answer, method: bytes
) -> None:
    status, body, content_type = answer
    if connection.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return
    headers = [("Content-Type", content_type), ("Content-Length", str(len(body)))]
    head = h11.Response(status_code=status, headers=headers, reason=status.phrase)
    data = connection.send(head) or b""
    if method != b"HEAD":
        data += connection.send(h11.Data(body)) or b""
    data += connection.send(h11.EndOfMessage()) or b""
    await stream.send_all(data)
