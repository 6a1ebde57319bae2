"""The layer between a connection and its socket.

A plain connection has the socket's own methods here. Another layer (TLS) takes the same place: its
methods behave as those of a non-blocking socket, and raise BlockingIOError where it would wait.
"""

from __future__ import annotations

import os
import socket
import struct
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkalite.wire.fields import InMemory

_RESET: Final = struct.pack("ii", 1, 0)


class Transport(Protocol):
    """Bytes of a connection, as they are before they are sent and after they were received.

    `has_input`: received bytes can be read although the socket has none. `has_output`: what was
    accepted by `send` is not yet handed to the socket; `send(b"")` tries again.
    """

    @property
    def has_input(self) -> bool: ...

    @property
    def has_output(self) -> bool: ...

    def recv(self, size: int, /) -> bytes: ...

    def recv_into(self, buffer: memoryview, /) -> int: ...

    def send(self, data: InMemory, flags: int, /) -> int:
        """The number of bytes taken; flags are those of send(2)."""
        ...

    def send_buffers(self, buffers: Sequence[InMemory], flags: int) -> int:
        """Send several buffers in one call; the number of bytes taken."""
        ...

    def send_file(self, descriptor: int, position: int, size: int) -> int:
        """Send bytes of a file; their number, 0 at the end of the file."""
        ...

    def fileno(self) -> int: ...

    def close(self) -> None: ...

    def reset(self) -> None:
        """Close, and let the other side see a reset connection."""
        ...


class PlainTransport(socket.socket):
    """A non-blocking socket and nothing around it: its own methods, at no further cost."""

    __slots__ = ()

    has_input = False
    has_output = False

    @classmethod
    def over(cls, sock: socket.socket) -> PlainTransport:
        """Take the place of `sock`, which is as good as closed then."""
        transport = cls(sock.family, sock.type, sock.proto, fileno=sock.detach())
        transport.setblocking(False)
        return transport

    def send_buffers(self, buffers: Sequence[InMemory], flags: int) -> int:
        return self.sendmsg(buffers, (), flags)

    def send_file(self, descriptor: int, position: int, size: int) -> int:
        return os.sendfile(self.fileno(), descriptor, position, size)

    def reset(self) -> None:
        self.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.close()
