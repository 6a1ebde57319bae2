"""The HTTP side: bad requests, ports in use."""

from __future__ import annotations

import socket

import pytest

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
