"""An identity provider that brokers log in at, and what it was asked."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

NOW = 1_000_000.0


class Provider(HTTPServer):
    """Answers with tokens that live for 100 s from `now` on."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, str]] = []
        self.now = NOW
        self.answer: bytes | None = None
        # The statuses of the next answers. 200 follows.
        self.statuses: list[int] = []
        self.delay = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/token"


class Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.asked.append((self.headers["Authorization"], body))
        number = len(self.server.asked)
        claims = base64.urlsafe_b64encode(b'{"exp":%d}' % (self.server.now + 100)).decode()
        found = {"access_token": f"{number}.{claims.rstrip('=')}.s"}
        time.sleep(self.server.delay)
        self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
        self.end_headers()
        answer = self.server.answer
        self.wfile.write(json.dumps(found).encode() if answer is None else answer)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as made:
        thread = Thread(target=made.serve_forever, args=(0.01,))
        thread.start()
        yield made
        made.shutdown()
        thread.join()
