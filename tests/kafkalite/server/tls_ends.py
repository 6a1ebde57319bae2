"""Both ends of a connection with TLS: a transport of the broker's, and a client."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from kafkalite.security.key_stores import pem_key_material
from kafkalite.security.tls import TlsSettings, make_context
from kafkalite.server.tls_transport import TlsTransport
from tests.kafkalite.security.certificates import Authority, Identity

AUTHORITY = Authority()
SERVER = AUTHORITY.server()
ALICE = AUTHORITY.client("alice")


def server_context() -> ssl.SSLContext:
    keys = pem_key_material(SERVER.key, SERVER.certificate, None)
    return make_context(TlsSettings(keys, trusted=[AUTHORITY.certificate], client_auth="requested"))


def client_context(directory: Path, identity: Identity | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=AUTHORITY.certificate)
    # In TLS 1.3 a client learns later whether its certificate was good.
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    if identity is not None:
        path = directory / "client.pem"
        path.write_text(identity.certificate + identity.key)
        context.load_cert_chain(path)
    return context


class Ends:
    """Both ends of one connection: the transport, and a client whose calls block in a thread."""

    def __init__(self, context: ssl.SSLContext, refusal: str = "") -> None:
        self.told: list[Any] = []
        self._refusal = refusal
        ours, self._theirs = socket.socketpair()
        ours.setblocking(False)
        self._theirs.settimeout(10)
        self.transport = TlsTransport(ours, server_context(), self._established, self.told.append)
        self._context = context
        self.client: ssl.SSLSocket | None = None

    def _established(self, certificate: bytes | None) -> None:
        self.told.append(certificate)
        if self._refusal:
            raise ConnectionRefusedError(self._refusal)

    def connect(self) -> None:
        """Shake hands. Raises what the transport raises."""
        thread = threading.Thread(target=self._shake)
        thread.start()
        try:
            while not self.told:
                try:
                    self.transport.recv(1)
                except BlockingIOError:
                    continue
        finally:
            if self.client is None and isinstance(self.told[-1], str):
                self.transport.close()
            thread.join()

    def _shake(self) -> None:
        try:
            self.client = self._context.wrap_socket(self._theirs, server_hostname="127.0.0.1")
        except (ssl.SSLError, OSError):
            self._theirs.close()

    def until_sent(self, send: Callable[[int], int], size: int) -> bytes:
        """All that the client gets of what `send` sends from a position on."""
        got: list[bytes] = []
        thread = threading.Thread(target=lambda: got.append(self._receive(size)))
        thread.start()
        sent = 0
        while sent < size:
            try:
                sent += send(sent)
            except BlockingIOError:
                continue
        while self.transport.has_output:
            with suppress(BlockingIOError):
                self.transport.send(b"", 0)
        thread.join()
        return got[0]

    def _receive(self, size: int) -> bytes:
        assert self.client is not None
        data = b""
        while len(data) < size:
            data += self.client.recv(size - len(data))
        return data

    def close(self) -> None:
        self.transport.close()
        (self.client or self._theirs).close()


class Asked:
    """A socket that counts the calls for input."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.count = 0

    def recv_into(self, room: memoryview, size: int) -> int:
        self.count += 1
        return self._socket.recv_into(room, size)

    def recv(self, size: int) -> bytes:
        self.count += 1
        return self._socket.recv(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)
