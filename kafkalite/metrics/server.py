"""GET /metrics, /health and /ready. One connection more or less, and never a thread.

`/health` tells that the event loop turns, `/ready` whether clients are to be sent here: 503 if not.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from kafkalite.server.http import HttpRequest, HttpResponse, HttpServer

_TEXT: Final = "text/plain; charset=utf-8"

# From the Accept header to the body and its content type.
Render = Callable[[str], Awaitable[tuple[bytes, str]]]


def metrics_server(render: Render, is_ready: Callable[[], bool]) -> HttpServer:
    """Answers HTTP requests with what `render` makes, and with what `is_ready` says."""

    async def respond(request: HttpRequest) -> HttpResponse:
        path = request.target.partition("?")[0]
        if path not in ("/metrics", "/health", "/ready"):
            return _said(HTTPStatus.NOT_FOUND, "The metrics are at /metrics")
        if request.method not in ("GET", "HEAD"):
            return _said(HTTPStatus.METHOD_NOT_ALLOWED, f"GET {path}")
        if path == "/health":
            return _said(HTTPStatus.OK, "alive")
        if path == "/ready":
            if is_ready():
                return _said(HTTPStatus.OK, "ready")
            return _said(HTTPStatus.SERVICE_UNAVAILABLE, "not ready")
        body, content_type = await render(request.headers.get("accept", ""))
        return HttpResponse(HTTPStatus.OK, body, content_type)

    return HttpServer(respond, _said)


def _said(status: HTTPStatus, detail: str) -> HttpResponse:
    return HttpResponse(status, f"{detail}\n".encode(), _TEXT)
