"""The control port: verbs over HTTP with JSON, for any language. h11 speaks HTTP, trio waits.

Guards, in this order: the Host must be a loopback name or one that was configured (else any
web page could reach the port by rebinding a name of its own, DNS permitting), an Origin must
be our own, a body is JSON (a form cannot send that), and the token must be there.
"""

from __future__ import annotations

import hmac
import logging
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import h11
import msgspec
import trio

from kafkalite.control.clusters import Clusters
from kafkalite.control.guard import LOOPBACK
from kafkalite.control.problems import Problem
from kafkalite.control.verbs import VERBS, Verb
from kafkalite.wire.errors import KafkaError

logger = logging.getLogger(__name__)

PREFIX: Final = "/v1"
_MAX_HEAD_BYTES: Final = 16_384
_MAX_BODY_BYTES: Final = 1 << 20
_RECEIVE_BYTES: Final = 16_384
_MAX_CONNECTIONS: Final = 64
_IDLE_SECONDS: Final = 300.0
_WITHOUT_TOKEN: Final = frozenset({"health"})
_JSON: Final = "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """Says what goes back: a status, a body, and what it is."""

    status: HTTPStatus
    body: bytes
    content_type: str = _JSON


@dataclass(slots=True)
class _Request:
    """A request, read to its end."""

    method: str
    target: str
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class _Route:
    verb: Verb
    pattern: re.Pattern[str]


def _routes() -> list[_Route]:
    return [
        _Route(
            verb,
            re.compile(PREFIX + re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(verb.path))),
        )
        for verb in VERBS.values()
    ]


class ControlServer:
    """Serves the verbs to those who know the token. `hosts` are names it may be called by."""

    def __init__(self, clusters: Clusters, token: str, hosts: frozenset[str] = frozenset()) -> None:
        self._clusters = clusters
        self._token = token
        self._hosts = LOOPBACK | hosts
        self._routes = _routes()
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
                answer = await self.answer(request)
            except h11.RemoteProtocolError as error:
                status = HTTPStatus(error.error_status_hint)
                problem = {"code": "bad_request", "detail": str(error), "status": int(status)}
                answer = Answer(status, msgspec.json.encode(problem), _PROBLEM)
                await _send(connection, stream, answer, "GET")
                return
            except Problem as problem:
                # The body was not read to its end.
                await _send(connection, stream, _problem(problem), "GET")
                return
            await _send(connection, stream, answer, request.method)
            if connection.our_state is h11.MUST_CLOSE:
                return
            connection.start_next_cycle()

    async def answer(self, request: _Request) -> Answer:
        """The answer to a request; what is wrong with it as problem+json (RFC 9457)."""
        try:
            return await self._answer(request)
        except Problem as problem:
            return _problem(problem)
        except msgspec.ValidationError as error:
            return _problem(Problem("invalid_request", str(error)))
        except KafkaError as error:
            return _problem(Problem("refused", error.message or error.code.name))

    async def _answer(self, request: _Request) -> Answer:
        self._guard(request)
        url = urlsplit(request.target)
        if url.path == f"{PREFIX}/openapi.json":
            from kafkalite.control.openapi import openapi

            return Answer(HTTPStatus.OK, msgspec.json.encode(openapi()))
        verb, in_path = self._route(request.method, url.path)
        if verb.name not in _WITHOUT_TOKEN:
            self._check_token(request)
        asked = self._asked(verb, in_path, request, url.query)
        done = await verb.run(self._clusters, in_path.get("cluster", "default"), asked)
        return Answer(HTTPStatus.OK, msgspec.json.encode(done))

    def _guard(self, request: _Request) -> None:
        host = _host_of(request.headers.get("host", ""))
        if host not in self._hosts:
            raise Problem(
                "misdirected",
                f"this is not {host or 'anything without a Host'}",
                hint="kafkalite.control.hosts names the hosts it may be called by",
            )
        origin = request.headers.get("origin")
        if origin is not None and origin != f"http://{request.headers['host']}":
            raise Problem("forbidden", f"{origin} may not ask anything here", value=origin)
        if request.body and request.headers.get("content-type", "").partition(";")[0] != _JSON:
            raise Problem("unsupported_media_type", f"a body must be {_JSON}")

    def _check_token(self, request: _Request) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(
            token.strip().encode(), self._token.encode()
        ):
            raise Problem(
                "unauthorized",
                "the token is missing or wrong",
                hint="it is in the ready file: Authorization: Bearer <token>",
            )

    def _route(self, method: str, path: str) -> tuple[Verb, dict[str, str]]:
        allowed: set[str] = set()
        for route in self._routes:
            match = route.pattern.fullmatch(path)
            if match is not None:
                if route.verb.method == method:
                    return route.verb, {
                        name: unquote(text) for name, text in match.groupdict().items()
                    }
                allowed.add(route.verb.method)
        if allowed:
            raise Problem(
                "method_not_allowed", f"{method} is not for {path}", hint=", ".join(sorted(allowed))
            )
        raise Problem("not_found", f"there is no {path}", hint=f"see {PREFIX}/openapi.json")

    def _asked(self, verb: Verb, in_path: Mapping[str, str], request: _Request, query: str) -> Any:
        """The verb's request. Raises ValidationError and Problem."""
        fields: dict[str, Any] = {}
        if verb.has_body and request.body:
            try:
                loaded = msgspec.json.decode(request.body)
            except msgspec.DecodeError as error:
                raise Problem("invalid_json", str(error)) from None
            if not isinstance(loaded, dict):
                raise Problem("invalid_request", "the body is to be a JSON object")
            fields = cast("dict[str, Any]", loaded)
        elif query:
            fields = dict(parse_qsl(query, keep_blank_values=True))
        known = {each.encode_name for each in msgspec.structs.fields(verb.request)}
        named = {name: text for name, text in in_path.items() if name in known}
        for name, text in named.items():
            if name in fields and str(fields[name]) != text:
                raise Problem("invalid_request", f"{name} is {text!r} in the path")
        # Numbers in a path or a query are text; in a body they are what they are.
        strict = verb.has_body and not named
        return msgspec.convert({**fields, **named}, verb.request, strict=strict, str_keys=True)


_PROBLEM: Final = "application/problem+json"


def _problem(problem: Problem) -> Answer:
    return Answer(problem.status, msgspec.json.encode(problem.as_json()), _PROBLEM)


def _host_of(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


async def _next_request(connection: h11.Connection, stream: trio.SocketStream) -> _Request | None:
    """The next request, read to its end; None when there will be none.

    Raises RemoteProtocolError, and Problem for a body that is too large.
    """
    request: _Request | None = None
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
                request = _Request(event.method.decode(), event.target.decode("latin-1"), headers)
            elif isinstance(event, h11.Data) and request is not None:
                request.body += bytes(event.data)
                if len(request.body) > _MAX_BODY_BYTES:
                    raise Problem("too_large", f"a body may have {_MAX_BODY_BYTES} bytes")
            elif isinstance(event, h11.EndOfMessage):
                return request
            elif isinstance(event, h11.ConnectionClosed):
                return None
    return None


async def _send(
    connection: h11.Connection, stream: trio.SocketStream, answer: Answer, method: str
) -> None:
    if connection.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
        return
    headers = [
        ("Content-Type", answer.content_type),
        ("Content-Length", str(len(answer.body))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    head = h11.Response(
        status_code=answer.status, headers=headers, reason=answer.status.phrase.encode()
    )
    data = connection.send(head) or b""
    if method != "HEAD":
        data += connection.send(h11.Data(answer.body)) or b""
    data += connection.send(h11.EndOfMessage()) or b""
    await stream.send_all(data)
