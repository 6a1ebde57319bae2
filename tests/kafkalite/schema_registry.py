"""A schema registry over HTTP, as far as a reader needs one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class SchemaRegistry:
    """`schemas` by id and `subjects` by name and version, as JSON has them; what was asked for."""

    def __init__(self) -> None:
        self.url = ""
        self.schemas: dict[int, dict[str, Any]] = {}
        self.subjects: dict[tuple[str, str], dict[str, Any]] = {}
        self.asked: list[str] = []
        self.authorizations: list[str | None] = []

    def answer(self, path: str) -> dict[str, Any] | None:
        self.asked.append(path)
        match path.strip("/").split("/"):
            case ["schemas", "ids", schema_id]:
                return self.schemas.get(int(schema_id))
            case ["subjects", subject, "versions", version]:
                return self.subjects.get((subject, version))
            case _:
                return None


@contextmanager
def serving() -> Iterator[SchemaRegistry]:
    """A registry that answers in a thread."""
    registry = SchemaRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.authorizations.append(self.headers["Authorization"])
            told = registry.answer(self.path)
            data = json.dumps(told or {"error_code": 40403}).encode()
            self.send_response(200 if told is not None else 404)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        registry.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()
