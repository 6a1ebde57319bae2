"""A client of TLS 1.2 that asks for another handshake gets none, and nobody else notices.

It costs a server more than a client. Python's `ssl` never asks for one, so pyOpenSSL does.
"""

from __future__ import annotations

import os
import socket
import ssl
import time
from collections.abc import Callable
from typing import Any

import pytest
from OpenSSL import SSL

from kafkalite.testing import broker
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from tests.kafkalite.security.certificates import Authority

SECONDS = 20
ATTEMPTS = 50
AUTHORITY = Authority()
SERVER = AUTHORITY.server()
CONFIGS = {
    "listeners": "SSL://127.0.0.1:0",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.key": SERVER.key,
    "ssl.keystore.certificate.chain": SERVER.certificate,
}
VERSIONS = b"".join(map(bytes, encode_request(18, 3, 1, "c", ApiVersionsRequest("test", "1"))))


class Attacker:
    """A connection of TLS 1.2 by OpenSSL itself."""

    def __init__(self, address: tuple[str, int]) -> None:
        context = SSL.Context(SSL.TLS_CLIENT_METHOD)
        context.set_max_proto_version(SSL.TLS1_2_VERSION)
        self.socket = socket.create_connection(address, SECONDS)
        self.tls = SSL.Connection(context, self.socket)
        self.tls.set_connect_state()
        self.socket.setblocking(False)
        self._until(self.tls.do_handshake)

    def renegotiate(self) -> None:
        """Ask for another handshake. Raises SSL.Error if the broker does not take part."""
        assert self.tls.renegotiate()
        self._until(self.tls.do_handshake)

    def ask(self) -> bytes:
        """An answer over the same connection."""
        self._until(lambda: self.tls.sendall(VERSIONS))
        size = int.from_bytes(self._until(lambda: self.tls.recv(4)))
        answer: bytes = self._until(lambda: self.tls.recv(size))
        return answer

    def close(self) -> None:
        self.socket.close()

    def _until(self, step: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                return step()
            except (SSL.WantReadError, SSL.WantWriteError):
                assert time.monotonic() < deadline, "the broker says nothing"
                time.sleep(0.005)


def other_asks(address: tuple[str, int]) -> None:
    """A client that behaves itself."""
    context = ssl.create_default_context(cadata=AUTHORITY.certificate)
    with (
        socket.create_connection(address, SECONDS) as below,
        context.wrap_socket(below, server_hostname="127.0.0.1") as connection,
    ):
        connection.sendall(VERSIONS)
        size = int.from_bytes(connection.recv(4))
        data = b""
        while len(data) < size:
            data += connection.recv(size - len(data))
        assert decode_response(18, 3, data)[1].error_code == 0


def test_no_second_handshake_is_made() -> None:
    with broker(CONFIGS) as running:
        host, _, port = running.bootstrap.rpartition(":")
        address = (host, int(port))
        before = len(os.listdir("/proc/self/fd"))
        for _ in range(ATTEMPTS):
            attacker = Attacker(address)
            assert decode_response(18, 3, attacker.ask())[1].error_code == 0
            with pytest.raises(SSL.Error, match="no renegotiation"):
                attacker.renegotiate()
            other_asks(address)
            attacker.close()
        deadline = time.monotonic() + SECONDS
        while len(os.listdir("/proc/self/fd")) > before:
            assert time.monotonic() < deadline, "connections stay open"
            time.sleep(0.05)
