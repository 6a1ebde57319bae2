"""The HTTP side: bad requests, ports in use."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request

import pytest
import trio

from kafkalite.metrics.server import metrics_server
from kafkalite.testing import broker as test_broker
from tests.kafkalite.scraping import ON, SECONDS, scrape


@pytest.mark.parametrize("sent", [b"\x00\x01\x02\r\n\r\n", b"GET /" + b"x" * 20_000, b"GET / HT"])
def test_bad_http_is_answered_and_harms_nobody(sent: bytes) -> None:
    with test_broker(ON) as b:
        assert b.metrics_url is not None
        host, _, port = b.metrics_url.split("/")[2].rpartition(":")
        with socket.create_connection((host, int(port)), timeout=SECONDS) as client:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            answer = client.recv(1000)
        assert answer == b"" or answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431"))
        assert scrape(b)


def said(b: test_broker, path: str) -> tuple[int, str]:
    assert b.metrics_url is not None
    try:
        with urllib.request.urlopen(
            b.metrics_url.replace("/metrics", path), timeout=SECONDS
        ) as got:
            return got.status, got.read().decode().strip()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode().strip()


def test_a_broker_that_serves_is_alive_and_ready() -> None:
    with test_broker(ON) as b:
        assert said(b, "/health") == (200, "alive")
        assert said(b, "/ready") == (200, "ready")
        assert said(b, "/other")[0] == 404


@pytest.mark.parametrize(("is_ready", "status"), [(True, b"200"), (False, b"503")])
async def test_a_broker_that_is_not_to_be_asked_says_so(is_ready: bool, status: bytes) -> None:
    async def render(accept: str) -> tuple[bytes, str]:
        return b"", accept

    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(metrics_server(render, lambda: is_ready).serve, listener)
            host, port = listener.getsockname()
            async with await trio.open_tcp_stream(host, port) as stream:
                await stream.send_all(b"GET /ready HTTP/1.1\r\nHost: a\r\n\r\n")
                answer = await stream.receive_some()
            nursery.cancel_scope.cancel()
    assert answer.split()[1] == status
