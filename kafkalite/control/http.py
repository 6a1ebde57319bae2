"""The control port: verbs over HTTP with JSON, for any language.

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
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from kafkalite.control.clusters import Clusters
from kafkalite.control.conversion import converted
from kafkalite.control.guard import LOOPBACK
from kafkalite.control.problems import Problem
from kafkalite.control.verbs import VERBS, Verb
from kafkalite.server.http import HttpRequest, HttpResponse, HttpServer
from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.ui.page_files import PageFiles

logger = logging.getLogger(__name__)

PREFIX: Final = "/v1"
_WITHOUT_TOKEN: Final = frozenset({"health"})
_JSON: Final = "application/json"


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
        self._server = HttpServer(self.answer, _refusal)

    async def serve(self, listener: socket.socket) -> None:
        """Serve for ever on a socket that listens."""
        await self._server.serve(listener)

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """The answer to a request; what is wrong with it as problem+json (RFC 9457)."""
        try:
            return await self._answer(request)
        except Problem as problem:
            return _problem(problem)
        except msgspec.ValidationError as error:
            return _problem(Problem("invalid_request", str(error)))
        except KafkaError as error:
            return _problem(Problem("refused", error.message or error.code.name))

    async def _answer(self, request: HttpRequest) -> HttpResponse:
        self._guard(request)
        url = urlsplit(request.target)
        if not url.path.startswith(f"{PREFIX}/"):
            return await self._file(request, url.path)
        if url.path == f"{PREFIX}/openapi.json":
            from kafkalite.control.openapi import openapi

            return HttpResponse(HTTPStatus.OK, msgspec.json.encode(openapi()), _JSON)
        verb, in_path = self._route(request.method, url.path)
        if verb.name not in _WITHOUT_TOKEN:
            self._check_token(request)
        asked = self._asked(verb, in_path, request, url.query)
        done = await verb.run(self._clusters, in_path.get("cluster", "default"), asked)
        data = done.data if verb.content_type != _JSON else msgspec.json.encode(done)
        return HttpResponse(HTTPStatus.OK, data, verb.content_type)

    async def _file(self, request: HttpRequest, path: str) -> HttpResponse:
        """A file of the page, which asks for no token. Raises Problem."""
        if not self._has_page:
            hint = f"see {PREFIX}/openapi.json; `kafkalite --ui` has a page here"
            raise Problem("not_found", f"there is no {path}", hint=hint)
        if self._page is None:
            from kafkalite.ui.page_files import PageFiles

            self._page = PageFiles()
        if request.method not in ("GET", "HEAD"):
            raise Problem("method_not_allowed", f"{request.method} is not for {path}", hint="GET")
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
        if request.body and request.headers.get("content-type", "").partition(";")[0] != _JSON:
            raise Problem("unsupported_media_type", f"a body must be {_JSON}")

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

    def _asked(
        self, verb: Verb, in_path: Mapping[str, str], request: HttpRequest, query: str
    ) -> Any:
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
        return converted({**fields, **named}, verb.request, strict=strict, str_keys=True)


_PROBLEM: Final = "application/problem+json"


def _problem(problem: Problem) -> HttpResponse:
    return HttpResponse(problem.status, msgspec.json.encode(problem.as_json()), _PROBLEM)


def _refusal(status: HTTPStatus, detail: str) -> HttpResponse:
    """The response to a request that is malformed, or too large to be read."""
    if status is HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        return _problem(Problem("too_large", detail))
    problem = {"code": "bad_request", "detail": detail, "status": int(status)}
    return HttpResponse(status, msgspec.json.encode(problem), _PROBLEM)


def _host_of(host: str) -> str:
    """The name in a Host header, without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
