"""The control port: verbs over HTTP with JSON, for any language.

Guards, in this order: the Host must be a loopback name or one that was configured (else any
web page could reach the port by rebinding a name of its own, DNS permitting), an Origin must
be our own, a body is JSON (a form cannot send that), and the token must be there.
"""

from __future__ import annotations

import hmac
import re
import socket
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Protocol, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
import trio

from kafkalite.control.answers import Written
from kafkalite.control.clusters import Clusters
from kafkalite.control.conversion import converted
from kafkalite.control.encoding import encoded
from kafkalite.control.guard import LOOPBACK
from kafkalite.control.kept_snapshots import MOST_EXPORTED_BYTES
from kafkalite.control.problems import Problem
from kafkalite.control.uploads import spooled
from kafkalite.control.verbs import EVENT_STREAM, VERBS, Verb
from kafkalite.log.loggers import logger_of
from kafkalite.requests.disk_threads import in_thread
from kafkalite.requests.slices import in_slices_of_task, release
from kafkalite.server.http import HttpRequest, HttpResponse, HttpServer, HttpStream, Send
from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.ui.page_files import PageFiles

logger = logger_of(__name__)

PREFIX: Final = "/v1"
_WITHOUT_TOKEN: Final = frozenset({"health"})
_JSON: Final = "application/json"


MOST_STREAMS: Final = 32
_SILENCE_SECONDS: Final = 15.0
_SENT_AT_ONCE: Final = 100
# A comment, by the rules of server-sent events.
_NOTHING_NEW: Final = b": nothing new\n\n"


class Message(Protocol):
    """One message of a stream."""

    @property
    def id(self) -> str: ...
    @property
    def kind(self) -> str: ...


class Messages(Protocol):
    """A stream as its verb makes it."""

    @property
    def is_over(self) -> bool: ...

    async def batch(self) -> Sequence[Message]:
        """The messages since the last time, after a while; there may be none."""
        ...


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
    """Serves the verbs to those who know the token, and the page (`has_page`) to all.

    `hosts` are names it may be called by.
    """

    def __init__(
        self,
        clusters: Clusters,
        token: str,
        hosts: frozenset[str] = frozenset(),
        *,
        has_page: bool = False,
    ) -> None:
        self._clusters = clusters
        self._has_page = has_page
        self._page: PageFiles | None = None
        self._token = token
        self._hosts = LOOPBACK | hosts
        self._routes = _routes()
        self._body_types = {_JSON, *(each.upload for each in VERBS.values())}
        self._streams = 0
        self._server = HttpServer(self.answer, _refusal)

    async def serve(self, listener: socket.socket) -> None:
        """Serve for ever on a socket that listens."""
        await self._server.serve(listener)

    async def answer(self, request: HttpRequest) -> HttpResponse | HttpStream:
        """The answer to a request; what is wrong with it as problem+json (RFC 9457)."""
        try:
            return await self._answer(request)
        except Problem as problem:
            return _problem(problem)
        except msgspec.ValidationError as error:
            return _problem(Problem("invalid_request", str(error)))
        except KafkaError as error:
            return _problem(Problem("refused", error.message or error.code.name))

    async def _answer(self, request: HttpRequest) -> HttpResponse | HttpStream:
        self._guard(request)
        try:
            url = urlsplit(request.target)
        except ValueError as error:
            raise Problem("invalid_target", f"{request.target!r}: {error}") from None
        if not url.path.startswith(f"{PREFIX}/"):
            return await self._file(request, url.path)
        if url.path == f"{PREFIX}/openapi.json":
            _check_read_only(request.method, url.path)
            return HttpResponse(HTTPStatus.OK, await in_thread(_described), _JSON)
        verb, in_path = self._route(request.method, url.path)
        if verb.name not in _WITHOUT_TOKEN:
            self._check_token(request)
        if verb.upload is not None:
            done = await self._run_with_file(verb, in_path, request)
        else:
            asked = await self._asked(verb, in_path, request, url.query)
            done = await verb.run(self._clusters, in_path.get("cluster", "default"), asked)
        if verb.is_stream:
            return self._stream(done)
        if verb.content_type != _JSON:
            return HttpResponse(HTTPStatus.OK, done.data, verb.content_type)
        data = await in_slices_of_task(encoded(done))
        if isinstance(done, Written):  # to free a million places at once takes long
            await in_slices_of_task(release([done.places]))
        return HttpResponse(HTTPStatus.OK, data, _JSON)

    async def _run_with_file(
        self, verb: Verb, in_path: Mapping[str, str], request: HttpRequest
    ) -> Any:
        """Raises Problem, ValidationError, BodyTooLargeError."""
        _check_type(request, str(verb.upload))
        # Names and size are checked before the file is taken.
        if int(request.headers.get("content-length", 0)) > MOST_EXPORTED_BYTES:
            raise Problem("too_large", f"a file may have {MOST_EXPORTED_BYTES >> 20} MiB")
        converted({**in_path, "file": ""}, verb.request, strict=False)
        clusters = self._clusters
        async with spooled(request.body, clusters.uploads, MOST_EXPORTED_BYTES) as path:
            asked = converted({**in_path, "file": str(path)}, verb.request, strict=False)
            return await verb.run(clusters, in_path.get("cluster", "default"), asked)

    def _stream(self, messages: Messages) -> HttpStream:
        """Server-sent events, each with the place after it as its id. Raises Problem."""
        if self._streams >= MOST_STREAMS:
            raise Problem("too_many", f"{MOST_STREAMS} streams are open already")

        async def write(send: Send) -> None:
            self._streams += 1
            try:
                await _written(messages, send)
            finally:
                self._streams -= 1

        return HttpStream(EVENT_STREAM, write)

    async def _file(self, request: HttpRequest, path: str) -> HttpResponse:
        """A file of the page, which asks for no token. Raises Problem."""
        if not self._has_page:
            hint = f"see {PREFIX}/openapi.json; `kafkalite --ui` has a page here"
            raise Problem("not_found", f"there is no {path}", hint=hint)
        if self._page is None:
            from kafkalite.ui.page_files import PageFiles

            self._page = PageFiles()
        _check_read_only(request.method, path)
        file = await self._page.answer(request, path)
        if file is None:
            raise Problem("not_found", f"there is no {path}", hint="the page is at /")
        return file

    def _guard(self, request: HttpRequest) -> None:
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
        if request.has_body and _type_of(request) not in self._body_types:
            _check_type(request, _JSON)

    def _check_token(self, request: HttpRequest) -> None:
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
                if method in _methods_of(route.verb):
                    return route.verb, {
                        name: unquote(text) for name, text in match.groupdict().items()
                    }
                allowed.update(_methods_of(route.verb))
        if allowed:
            raise _not_allowed(method, path, allowed)
        raise Problem("not_found", f"there is no {path}", hint=f"see {PREFIX}/openapi.json")

    async def _asked(
        self, verb: Verb, in_path: Mapping[str, str], request: HttpRequest, query: str
    ) -> Any:
        """The verb's request. Raises ValidationError and Problem."""
        fields: dict[str, Any] = {}
        if request.has_body:
            _check_type(request, _JSON)
        if verb.has_body and (body := await request.body.whole()):
            try:
                loaded = msgspec.json.decode(body)
            except (msgspec.DecodeError, RecursionError) as error:
                raise Problem("invalid_json", str(error)) from None
            if not isinstance(loaded, dict):
                raise Problem("invalid_request", "the body is to be a JSON object")
            fields = cast("dict[str, Any]", loaded)
        elif query:
            fields = dict(parse_qsl(query, keep_blank_values=True))
        if verb.is_stream and (place := request.headers.get("last-event-id")):
            fields["after"] = place
        known = verb.request.__struct_encode_fields__
        named = {name: text for name, text in in_path.items() if name in known}
        for name, text in named.items():
            if name in fields and str(fields[name]) != text:
                raise Problem("invalid_request", f"{name} is {text!r} in the path")
        # Numbers in a path or a query are text; in a body they are what they are.
        strict = verb.has_body and not named
        return converted({**fields, **named}, verb.request, strict=strict, str_keys=True)


async def _written(messages: Messages, send: Send) -> None:
    """Send messages as they come, and a comment now and then, for proxies on the way."""
    # The client learns at once that it is heard.
    await send(_NOTHING_NEW)
    sent = trio.current_time()
    while not messages.is_over:
        found = await messages.batch()
        for start in range(0, len(found), _SENT_AT_ONCE):  # others have their turn in between
            await send(b"".join(map(_message, found[start : start + _SENT_AT_ONCE])))
            sent = trio.current_time()
        if trio.current_time() > sent + _SILENCE_SECONDS:
            await send(_NOTHING_NEW)
            sent = trio.current_time()


def _message(message: Message) -> bytes:
    head = f"id: {message.id}\nevent: {message.kind}\ndata: "
    return head.encode() + msgspec.json.encode(message) + b"\n\n"


def _check_type(request: HttpRequest, wanted: str) -> None:
    """Raises Problem for a body of another type."""
    if _type_of(request) != wanted:
        raise Problem("unsupported_media_type", f"a body must be {wanted}")


def _type_of(request: HttpRequest) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def _methods_of(verb: Verb) -> tuple[str, ...]:
    """A HEAD is for what asks for no token, as a health check may send one."""
    return ("GET", "HEAD") if verb.name in _WITHOUT_TOKEN else (verb.method,)


def _check_read_only(method: str, path: str) -> None:
    """Raises Problem for a request that would change what can only be read."""
    if method not in ("GET", "HEAD"):
        raise _not_allowed(method, path, ("GET", "HEAD"))


def _not_allowed(method: str, path: str, allowed: Collection[str]) -> Problem:
    return Problem(
        "method_not_allowed", f"{method} is not for {path}", hint=", ".join(sorted(allowed))
    )


_PROBLEM: Final = "application/problem+json"


@cache
def _described() -> bytes:
    """All routes, which take some 60 ms to describe."""
    from kafkalite.control.openapi import openapi

    return msgspec.json.encode(openapi())


def _problem(problem: Problem) -> HttpResponse:
    headers: dict[str, str] = {}
    if problem.status is HTTPStatus.METHOD_NOT_ALLOWED:
        headers["Allow"] = problem.hint or ""
    if problem.status is HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return HttpResponse(problem.status, msgspec.json.encode(problem.as_json()), _PROBLEM, headers)


def _refusal(status: HTTPStatus, detail: str) -> HttpResponse:
    """The response to a request that is malformed, too large to be read, or met a mistake of
    ours."""
    if status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return _problem(Problem("too_large", detail))
    code = "internal_error" if status is HTTPStatus.INTERNAL_SERVER_ERROR else "bad_request"
    problem = {"code": code, "detail": detail, "status": int(status)}
    return HttpResponse(status, msgspec.json.encode(problem), _PROBLEM)


def _host_of(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
