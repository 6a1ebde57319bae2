"""GET /metrics. One connection more or less, and never a thread."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from kafkalite.server.http import HttpRequest, HttpResponse, HttpServer

_TEXT: Final = "text/plain; charset=utf-8"

# From the Accept header to the body and its content type.
Render = Callable[[str], Awaitable[tuple[bytes, str]]]


def metrics_server(render: Render) -> HttpServer:
    """Answers HTTP requests with what `render` makes."""

    async def respond(request: HttpRequest) -> HttpResponse:
        if request.target.partition("?")[0] != "/metrics":
            return _said(HTTPStatus.NOT_FOUND, "The metrics are at /metrics")
        if request.method not in ("GET", "HEAD"):
            return _said(HTTPStatus.METHOD_NOT_ALLOWED, "GET /metrics")
        body, content_type = await render(request.headers.get("accept", ""))
        return HttpResponse(HTTPStatus.OK, body, content_type)

    return HttpServer(respond, _said)


def _said(status: HTTPStatus, detail: str) -> HttpResponse:
    return HttpResponse(status, f"{detail}\n".encode(), _TEXT)
