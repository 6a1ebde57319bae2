"""A small HTTP server, for the metrics and for the control port: h11 speaks HTTP, trio waits.

It takes a limited number of connections, and closes those that send nothing for a while. A request
is read to its end before it is answered.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

import h11
import trio

_MAX_HEAD_BYTES: Final = 16_384
_MAX_BODY_BYTES: Final = 1 << 20
_RECEIVE_BYTES: Final = 16_384
_MAX_CONNECTIONS: Final = 64
# Longer than any interval in which metrics are scraped.
_IDLE_SECONDS: Final = 300.0


@dataclass(slots=True)
class HttpRequest:
    """A request. Names of headers are in lower case."""

    method: str
    target: str
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response: a status, a body, the type of the body, and headers beside the usual ones."""

    status: HTTPStatus
    body: bytes
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class _TooLargeError(Exception):
    """The body is longer than _MAX_BODY_BYTES. It was not read to its end."""


class HttpServer:
    """`respond(request)` makes the responses.

    `refuse(status, detail)` makes those to malformed requests, whose connections are closed.
    """

    def __init__(
        self,
        respond: Callable[[HttpRequest], Awaitable[HttpResponse]],
        refuse: Callable[[HTTPStatus, str], HttpResponse],
    ) -> None:
        self._respond = respond
        self._refuse = refuse
        self._connections = 0

    async def serve(self, listener: socket.socket) -> None:
        """Serve for ever on a socket that listens."""
        listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(listener))]
        await trio.serve_listeners(self._serve_connection, listeners)

    async def _serve_connection(self, stream: trio.SocketStream) -> None:
        self._connections += 1
        try:
            async with stream:
                if self._connections <= _MAX_CONNECTIONS:
                    await self._converse(stream)
        except (trio.BrokenResourceError, trio.ClosedResourceError, h11.LocalProtocolError):
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
                response = await self._respond(request)
            except h11.RemoteProtocolError as error:
                refused = self._refuse(HTTPStatus(error.error_status_hint), str(error))
                await _send(connection, stream, refused, "GET")
                return
            except _TooLargeError as error:
                refused = self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error))
                await _send(connection, stream, refused, "GET")
                return
            await _send(connection, stream, response, request.method)
            if connection.our_state is h11.MUST_CLOSE:
                return
            connection.start_next_cycle()


async def _next_request(
    connection: h11.Connection, stream: trio.SocketStream
) -> HttpRequest | None:
    """The next request; None when there will be none. Raises RemoteProtocolError and
    _TooLargeError."""
    request: HttpRequest | None = None
    with trio.move_on_after(_IDLE_SECONDS):
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                if connection.they_are_waiting_for_100_continue:
                    going_on = h11.InformationalResponse(status_code=100, headers=[])
                    await stream.send_all(connection.send(going_on) or b"")
                connection.receive_data(await stream.receive_some(_RECEIVE_BYTES))
            elif isinstance(event, h11.Request):
                headers = {name.decode(): value.decode("latin-1") for name, value in event.headers}
                request = HttpRequest(
                    event.method.decode(), event.target.decode("latin-1"), headers
                )
            elif isinstance(event, h11.Data) and request is not None:
                request.body += bytes(event.data)
                if len(request.body) > _MAX_BODY_BYTES:
                    raise _TooLargeError(f"a body may have {_MAX_BODY_BYTES} bytes")
            elif isinstance(event, h11.EndOfMessage):
                return request
            elif isinstance(event, h11.ConnectionClosed):
                return None
    return None


async def _send(
    connection: h11.Connection, stream: trio.SocketStream, response: HttpResponse, method: str
) -> None:
    if connection.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return
    headers = {
        "Content-Type": response.content_type,
        "Content-Length": str(len(response.body)),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        **response.headers,
    }
    if response.status is HTTPStatus.NOT_MODIFIED:
        # It would say how long the body is that is not sent.
        del headers["Content-Length"]
    reason = response.status.phrase.encode()
    head = h11.Response(status_code=response.status, headers=[*headers.items()], reason=reason)
    data = connection.send(head) or b""
    if method != "HEAD":
        data += connection.send(h11.Data(response.body)) or b""
    data += connection.send(h11.EndOfMessage()) or b""
    await stream.send_all(data)
