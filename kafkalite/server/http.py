"""A small HTTP server, for the metrics and for the control port: h11 speaks HTTP, trio waits.

It takes a limited number of connections, and closes those that send nothing for a while. The body
of a request is read as far as its answer needs it. An answer may be a stream (HttpStream), which
ends when all is sent, when the client hangs up, or when it takes nothing for a while.
"""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

import h11
import trio

from kafkalite.log.loggers import logger_of

logger = logger_of(__name__)

_MAX_HEAD_BYTES: Final = 16_384
MAX_BODY_BYTES: Final = 1 << 20
_RECEIVE_BYTES: Final = 65_536
_SEND_BYTES: Final = 1 << 18
_MAX_CONNECTIONS: Final = 64
# Longer than any interval in which metrics are scraped.
_IDLE_SECONDS: Final = 300.0
# A stream's client that reads nothing for so long has stopped, or is gone.
_STALLED_SECONDS: Final = 30.0
# A client that was refused may go on sending for this long: a reset would lose its answer.
_LINGER_SECONDS: Final = 2.0

Send = Callable[[bytes], Awaitable[None]]


class BodyTooLargeError(Exception):
    """The body is longer than it may be. It was not read to its end."""


class HttpBody:
    """The body of a request as it comes. `receive` gives its next bytes, none at its end."""

    def __init__(self, receive: Callable[[], Awaitable[bytes]] | None = None) -> None:
        self._receive = receive

    async def part(self) -> bytes:
        """The next bytes, none at the end. Raises RemoteProtocolError and BrokenResourceError."""
        if self._receive is None:
            return b""
        data = await self._receive()
        if not data:
            self._receive = None
        return data

    async def whole(self, most_bytes: int = MAX_BODY_BYTES) -> bytes:
        """All of what is left. Raises BodyTooLargeError, and as `part`."""
        body = bytearray()
        while part := await self.part():
            body += part
            if len(body) > most_bytes:
                raise BodyTooLargeError(f"a body may have {most_bytes} bytes")
        return bytes(body)


@dataclass(slots=True)
class HttpRequest:
    """A request. Names of headers are in lower case."""

    method: str
    target: str
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: HttpBody = field(default_factory=HttpBody)

    @property
    def has_body(self) -> bool:
        """True if a body comes with it."""
        length = self.headers.get("content-length", "0")
        return length != "0" or "transfer-encoding" in self.headers


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response: a status, a body, the type of the body, and headers beside the usual ones."""

    status: HTTPStatus
    body: bytes
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class HttpStream:
    """A response whose body is written bit by bit; the connection ends with it.

    `write(send)` is cancelled when the client has gone.
    """

    content_type: str
    write: Callable[[Send], Awaitable[None]]


Respond = Callable[[HttpRequest], Awaitable[HttpResponse | HttpStream]]


class HttpServer:
    """`respond(request)` makes the responses.

    `refuse(status, detail)` makes those to malformed requests, whose connections are closed.
    """

    def __init__(self, respond: Respond, refuse: Callable[[HTTPStatus, str], HttpResponse]) -> None:
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
            request: HttpRequest | None = None
            try:
                request = await _next_request(connection, stream)
                if request is None:
                    return
                response = await self._respond(request)
                if not request.has_body:
                    await request.body.whole()  # the end is an event of its own
            except h11.RemoteProtocolError as error:
                response = self._refuse(HTTPStatus(error.error_status_hint), str(error))
            except BodyTooLargeError as error:
                response = self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error))
            except (trio.BrokenResourceError, trio.ClosedResourceError, h11.LocalProtocolError):
                raise  # the client has gone
            except Exception:
                logger.exception("a request over HTTP was not answered")
                response = self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, "see the broker's log")
            method = "GET" if request is None else request.method
            if isinstance(response, HttpStream):
                await _stream(connection, stream, response, method)
                return
            await _send(connection, stream, response, method)
            if connection.their_state not in (h11.DONE, h11.MUST_CLOSE):
                await _linger(stream)
                return
            if connection.our_state is h11.MUST_CLOSE:
                return
            connection.start_next_cycle()


async def _next_request(
    connection: h11.Connection, stream: trio.SocketStream
) -> HttpRequest | None:
    """The next request; None when there will be none. Raises RemoteProtocolError."""

    async def receive() -> bytes:
        event = await _next_event(connection, stream)
        if event is None:
            raise trio.BrokenResourceError
        return bytes(event.data) if isinstance(event, h11.Data) else b""

    event = await _next_event(connection, stream)
    if not isinstance(event, h11.Request):
        return None
    headers = {name.decode(): value.decode("latin-1") for name, value in event.headers}
    method, target = event.method.decode(), event.target.decode("latin-1")
    return HttpRequest(method, target, headers, HttpBody(receive))


async def _next_event(connection: h11.Connection, stream: trio.SocketStream) -> h11.Event | None:
    """The next event; None after a long silence. Raises RemoteProtocolError."""
    with trio.move_on_after(_IDLE_SECONDS):
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Event):
                return event
            if connection.they_are_waiting_for_100_continue:
                going_on = h11.InformationalResponse(status_code=100, headers=[])
                await stream.send_all(connection.send(going_on) or b"")
            connection.receive_data(await stream.receive_some(_RECEIVE_BYTES))
    return None


def _usual_headers(content_type: str) -> dict[str, str]:
    return {
        "Content-Type": content_type,
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
    }


def _head(status: HTTPStatus, headers: Mapping[str, str]) -> h11.Response:
    reason = status.phrase.encode()
    return h11.Response(status_code=status, headers=[*headers.items()], reason=reason)


async def _send(
    connection: h11.Connection, stream: trio.SocketStream, response: HttpResponse, method: str
) -> None:
    if connection.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return
    headers = {
        **_usual_headers(response.content_type),
        "Content-Length": str(len(response.body)),
        **response.headers,
    }
    if response.status is HTTPStatus.NOT_MODIFIED:
        # It would say how long the body is that is not sent.
        del headers["Content-Length"]
    if connection.their_state is h11.SEND_BODY:
        # The rest of the request is not read, so none can follow it.
        headers["Connection"] = "close"
    data = connection.send(_head(response.status, headers)) or b""
    if method != "HEAD":
        body = memoryview(response.body)
        for start in range(0, len(body), _SEND_BYTES):  # others have their turn in between
            data += connection.send(h11.Data(bytes(body[start : start + _SEND_BYTES]))) or b""
            await stream.send_all(data)
            data = b""
    data += connection.send(h11.EndOfMessage()) or b""
    if data:
        await stream.send_all(data)


async def _stream(
    connection: h11.Connection, stream: trio.SocketStream, response: HttpStream, method: str
) -> None:
    headers = {**_usual_headers(response.content_type), "Connection": "close"}
    await stream.send_all(connection.send(_head(HTTPStatus.OK, headers)) or b"")
    is_whole = method == "HEAD"
    if not is_whole:
        async with trio.open_nursery() as nursery:
            scope = nursery.cancel_scope

            async def send(data: bytes) -> None:
                with suppress(trio.BrokenResourceError), trio.move_on_after(_STALLED_SECONDS):
                    await stream.send_all(connection.send(h11.Data(data)) or b"")
                    return
                scope.cancel()
                await trio.lowlevel.checkpoint()

            nursery.start_soon(_until_hung_up, stream, scope)
            try:
                await response.write(send)
                is_whole = True
            except Exception:
                logger.exception("an answer over HTTP was not sent to its end")
            scope.cancel()
    if is_whole:
        await stream.send_all(connection.send(h11.EndOfMessage()) or b"")


async def _until_hung_up(stream: trio.SocketStream, scope: trio.CancelScope) -> None:
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        while await stream.receive_some(_RECEIVE_BYTES):
            pass  # it has asked, and has nothing more to say
    scope.cancel()


async def _linger(stream: trio.SocketStream) -> None:
    """Let the client read the answer before it learns that the rest of its request is unread."""
    with trio.move_on_after(_LINGER_SECONDS), suppress(trio.BrokenResourceError):
        await stream.send_eof()
        while await stream.receive_some(_RECEIVE_BYTES):
            pass
