"""A page that is open: its requests, at its pace, by threads that draw nothing; or Chromium."""

from __future__ import annotations

import math
import socket
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from typing import Final
from urllib.parse import quote, urlsplit

CLUSTER: Final = "/clusters/default"
# The questions of every view, and those of two: path, and pause in seconds (ui/page/poll.js).
FRAME: Final = {"/clusters": 2.0, f"{CLUSTER}/clock": 1.0, f"{CLUSTER}/faults": 1.0}
OVERVIEW: Final = {
    **FRAME,
    CLUSTER: 1.0,
    f"{CLUSTER}/topics": 1.0,
    f"{CLUSTER}/groups": 1.0,
    f"{CLUSTER}/connections": 2.0,
    f"{CLUSTER}/unsupported": 10.0,
    # It counts for a second, and is asked again at once.
    (TRAFFIC := f"{CLUSTER}/traffic"): 1.0,
}
# The last requests and events are asked for once, and the stream has all that come.
REQUESTS: Final = {
    **FRAME,
    f"{CLUSTER}/spy": 2.0,
    f"{CLUSTER}/requests": math.inf,
    f"{CLUSTER}/events": math.inf,
    (STREAM := f"{CLUSTER}/stream"): math.inf,
}
VIEWS: Final = {"overview": OVERVIEW, "requests": REQUESTS}
# An answer that took long is asked for again when so many times as long has passed.
SHARE: Final = 10
READ_BYTES: Final = 1 << 20

Took = dict[str, list[tuple[float, int]]]


class Replay:
    """The questions of an open page, by threads; `took` gets each answer's seconds and bytes."""

    def __init__(
        self, control: Mapping[str, str], asked: Mapping[str, float], took: Took | None = None
    ) -> None:
        self._control = control
        self.took: Took = {} if took is None else took
        self._ended = threading.Event()
        self._stream: socket.socket | None = None
        self._threads = [
            threading.Thread(target=self._follow)
            if path == STREAM
            else threading.Thread(target=self._repeat, args=(path, pause))
            for path, pause in asked.items()
        ]

    def __enter__(self) -> None:
        for thread in self._threads:
            thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._stream is not None:
            self._stream.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _repeat(self, path: str, pause: float) -> None:
        connection = HTTPConnection(urlsplit(self._control["url"]).netloc, timeout=60)
        while not self._ended.is_set():
            began = time.perf_counter()
            self._ask(connection, path)
            if path != TRAFFIC:
                took = time.perf_counter() - began
                self._ended.wait(None if pause == math.inf else max(pause, SHARE * took))
        connection.close()

    def _ask(self, connection: HTTPConnection, path: str) -> None:
        began = time.perf_counter()
        headers = {"Authorization": f"Bearer {self._control['token']}"}
        connection.request("GET", f"/v1{path}", headers=headers)
        answer = connection.getresponse()
        data = answer.read()
        assert answer.status == 200, data
        self.took.setdefault(path, []).append((time.perf_counter() - began, len(data)))

    def _follow(self) -> None:
        """Read what the stream sends as it comes: to take it apart would cost the load, too."""
        address = urlsplit(self._control["url"])
        stream = socket.create_connection((str(address.hostname), address.port or 80), timeout=60)
        self._stream = stream
        with stream, suppress(OSError):
            stream.sendall(
                f"GET /v1{STREAM}?waiting=true&latest=true HTTP/1.1\r\nHost: {address.netloc}\r\n"
                f"Authorization: Bearer {self._control['token']}\r\n\r\n".encode()
            )
            began = time.perf_counter()
            while data := stream.recv(READ_BYTES):
                assert self.took.get(STREAM) or data.startswith(b"HTTP/1.1 200 "), data
                self.took.setdefault(STREAM, []).append((time.perf_counter() - began, len(data)))
                began = time.perf_counter()


class Browser:
    """Chromium, whose page shows nothing between slices."""

    def __init__(self, url: str) -> None:
        from playwright.sync_api import sync_playwright

        from conformance.ui.conftest import chromium_path

        self._url = url
        self._driver = sync_playwright().start()
        self._chromium = self._driver.chromium.launch(executable_path=chromium_path())
        self._page = self._chromium.new_page(viewport={"width": 1280, "height": 800})

    @contextmanager
    def showing(self, view: str) -> Generator[None]:
        self._page.goto(f"{self._url}&to={quote(f'/default/{view}')}")
        self._page.wait_for_selector("h1")
        yield
        self._page.goto("about:blank")

    def close(self) -> None:
        self._chromium.close()
        self._driver.stop()
