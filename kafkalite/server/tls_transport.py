"""TLS between a connection and its socket, by the standard library's `ssl`.

The handshake happens in the first calls of `recv`: until it is done there is nothing to read. What
is sent is handed to OpenSSL as it lies, a file's bytes after one read from the page cache, so that
no byte is copied in Python beyond that.
"""

from __future__ import annotations

import os
import socket
import ssl
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kafkalite.wire.fields import InMemory

# Handed to OpenSSL in one call: four records. What was begun with is offered again, not less.
_MOST_AT_ONCE: Final = 65536
# Received in one call: a turn of the loop for each record would cost more than its bytes.
_MOST_RECEIVED: Final = 262_144
_RESET: Final = struct.pack("ii", 1, 0)


class TlsTransport:
    """A socket with TLS around it (server/transport.py says what a transport is)."""

    __slots__ = ("_end", "_established", "_failed", "_is_shaking", "_socket", "_tls", "_wants_room")

    def __init__(
        self,
        sock: socket.socket,
        context: ssl.SSLContext,
        established: Callable[[bytes | None], None],
        failed: Callable[[str], None],
    ) -> None:
        """`sock` is non-blocking, and belongs to this from now on.

        `established` is called with the client's certificate in DER, None without one; it may raise
        OSError to refuse the client. `failed` is called with the reason if the handshake fails.
        """
        self._socket = sock
        self._tls = context.wrap_socket(
            sock, server_side=True, do_handshake_on_connect=False, suppress_ragged_eofs=True
        )
        self._established = established
        self._failed = failed
        self._is_shaking = True
        self._wants_room = False
        # The end of the input, or the error that ended it, met after bytes that were handed out:
        # the next call raises it.
        self._end: OSError | None = None

    @property
    def has_input(self) -> bool:
        return self._end is not None or self._tls.pending() > 0

    @property
    def has_output(self) -> bool:
        return self._wants_room

    def _shake(self) -> None:
        """Go on with the handshake. Raises BlockingIOError while it is not done, OSError."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._wants_room = False
            raise BlockingIOError from None
        except ssl.SSLWantWriteError:
            self._wants_room = True
            raise BlockingIOError from None
        except OSError as error:
            self._failed(f"TLS handshake: {_reason(error)}")
            raise
        self._wants_room = self._is_shaking = False
        self._established(self._tls.getpeercert(binary_form=True))

    def recv(self, size: int) -> bytes:
        if self._is_shaking:
            self._shake()
        try:
            if self._end is not None:
                raise self._end
            return self._tls.recv(size)
        except ssl.SSLZeroReturnError:
            return b""
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def recv_into(self, room: memoryview) -> int:
        """Received bytes of several records: OpenSSL gives one at a time, of 16 KiB at most."""
        if self._is_shaking:
            self._shake()
        received, wanted = 0, min(len(room), _MOST_RECEIVED)
        try:
            if self._end is not None:
                raise self._end
            while received < wanted:
                count = self._tls.recv_into(room[received:])
                if not count:
                    raise ssl.SSLZeroReturnError  # without the farewell of TLS
                received += count
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            if not received:
                raise BlockingIOError from None
        except ssl.SSLZeroReturnError as end:
            self._end = end
        except OSError as error:
            if not received:
                raise
            self._end = error
        return received

    def send(self, data: InMemory, flags: int) -> int:
        if self._is_shaking:
            self._shake()
        if not data:
            return 0
        part = data if len(data) <= _MOST_AT_ONCE else memoryview(data)[:_MOST_AT_ONCE]
        try:
            return self._tls.send(part)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def send_buffers(self, buffers: Sequence[InMemory], flags: int) -> int:
        """Joined as far as OpenSSL takes it at once: its records cost more than the copy."""
        joined: list[InMemory] = []
        size = 0
        for buffer in buffers:
            part = memoryview(buffer)[: _MOST_AT_ONCE - size]
            joined.append(part)
            size += len(part)
            if size == _MOST_AT_ONCE:
                break
        return self.send(b"".join(joined), flags)

    def send_file(self, descriptor: int, position: int, size: int) -> int:
        data = os.pread(descriptor, min(size, _MOST_AT_ONCE), position)
        return self.send(data, 0) if data else 0

    def fileno(self) -> int:
        return self._tls.fileno()

    def close(self) -> None:
        if not self._is_shaking:
            # The client learns that nothing was cut off; its answer is not waited for.
            with suppress(OSError, ValueError):
                self._tls.unwrap()
        self._tls.close()

    def reset(self) -> None:
        self._tls.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._tls.close()


def _reason(error: OSError) -> str:
    """OpenSSL's words without its file names."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    return error.strerror or str(error)
