"""TLS between a connection and its socket, by the standard library's `ssl`.

    socket -> received (a MemoryBIO) -> OpenSSL -> the connection's buffer
    data -> OpenSSL -> sealed (a MemoryBIO) -> unsent -> socket

OpenSSL would ask a socket twice for each record, of 16 KiB at most: for its head, and for the rest.
Between two pieces of memory it makes no system call, and the socket is asked once for many records.
That saves a fourth of the processor time of receiving; the further copy costs less.

The handshake happens in the first calls of `recv`: until it is done there is nothing to read.
"""

from __future__ import annotations

import os
import socket
import ssl
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from kafkalite.wire.fields import InMemory

# Sealed in one call. What the socket does not take at once is kept meanwhile.
_MOST_AT_ONCE: Final = 131_072
# Received in one call: a turn of the loop for each record would cost more than its bytes.
_MOST_RECEIVED: Final = 262_144
# Asked of the socket at once. A connection keeps as much memory for it until its end.
_MOST_ASKED: Final = 131_072
_LEAST_ASKED: Final = 16_384
_RECORD_BYTES: Final = 16_384
_NO_ROOM: Final = memoryview(b"")
_RESET: Final = struct.pack("ii", 1, 0)


class TlsTransport:
    """A socket with TLS around it (server/transport.py says what a transport is)."""

    __slots__ = (
        "_end",
        "_established",
        "_failed",
        "_is_shaking",
        "_is_starved",
        "_read_into",
        "_received",
        "_sealed",
        "_socket",
        "_tls",
        "_unsent",
    )

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
        self._received = ssl.MemoryBIO()
        self._sealed = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._received, self._sealed, server_side=True)
        # With a buffer it is the number of bytes that it returns.
        self._read_into = cast("Callable[[int, memoryview], int]", self._tls.read)
        self._established = established
        self._failed = failed
        self._is_shaking = True
        # True if what was received is no whole record.
        self._is_starved = True
        self._unsent: memoryview = memoryview(b"")
        # The end of the input, or the error that ended it, met after bytes that were handed out:
        # the next call raises it.
        self._end: OSError | None = None

    @property
    def has_input(self) -> bool:
        return not self._is_starved or self._end is not None

    @property
    def has_output(self) -> bool:
        return len(self._unsent) > 0

    def _shake(self) -> bool:
        """Go on with the handshake; True if there may be more input after it.

        Raises BlockingIOError while it is not done, OSError.
        """
        try:
            while True:
                may_have_more = self._ask(_NO_ROOM)
                try:
                    self._tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    self._push()
        except BlockingIOError:
            raise
        except OSError as error:
            with suppress(OSError):
                self._push()  # the reason, as an alert
            self._failed(f"TLS handshake: {_reason(error)}")
            raise
        self._push()
        self._is_shaking = False
        self._established(self._tls.getpeercert(binary_form=True))
        return may_have_more

    def _ask(self, room: memoryview) -> bool:
        """Receive records into OpenSSL's memory, by way of `room` if it is large enough.

        True: there may be more. Raises OSError.
        """
        size = min(len(room), _MOST_ASKED)
        received: bytes | memoryview
        if size < _LEAST_ASKED:
            size = _LEAST_ASKED
            received = self._socket.recv(size)
        else:
            received = room[: self._socket.recv_into(room, size)]
        if received:
            self._received.write(received)
        else:
            self._received.write_eof()
        return len(received) == size

    def recv(self, size: int) -> bytes:
        """Received bytes of one record."""
        room = memoryview(bytearray(min(size, _RECORD_BYTES)))
        return bytes(room[: self.recv_into(room)])

    def recv_into(self, room: memoryview) -> int:
        """Received bytes of several records."""
        may_have_more = self._shake() if self._is_shaking else True
        if self._end is not None:
            return self._ended()
        received, wanted = 0, min(len(room), _MOST_RECEIVED)
        self._is_starved = False
        try:
            while received < wanted:
                rest = room[received:]
                try:
                    count = self._read_into(len(rest), rest)
                    if not count:
                        raise ssl.SSLZeroReturnError  # the farewell of TLS
                    received += count
                except ssl.SSLWantReadError:
                    self._is_starved = True
                    if not may_have_more:
                        break
                    may_have_more = self._ask(rest)
                    self._is_starved = False
        except BlockingIOError:
            pass
        except OSError as end:
            self._end = end
        if self._sealed.pending:
            self._push()  # an answer or an alert of TLS itself
        if received:
            return received
        if self._end is None:
            raise BlockingIOError
        return self._ended()

    def _ended(self) -> int:
        """0 at the end of the input. Raises the OSError that ended it."""
        if isinstance(self._end, (ssl.SSLZeroReturnError, ssl.SSLEOFError)):
            return 0
        assert self._end is not None
        raise self._end

    def send(self, data: InMemory, flags: int) -> int:
        if self._is_shaking:
            self._shake()
        if self._unsent or self._sealed.pending:
            self._push()
            if self._unsent:
                raise BlockingIOError
        if not data:
            return 0
        part = data if len(data) <= _MOST_AT_ONCE else memoryview(data)[:_MOST_AT_ONCE]
        try:
            count = self._tls.write(part)
        except ssl.SSLWantReadError:
            raise BlockingIOError from None
        self._push()
        return count

    def _push(self) -> None:
        """Hand the socket what is sealed, as far as it takes it. Raises OSError."""
        if self._sealed.pending:
            sealed = self._sealed.read()
            self._unsent = memoryview(bytes(self._unsent) + sealed if self._unsent else sealed)
        while self._unsent:
            try:
                self._unsent = self._unsent[self._socket.send(self._unsent) :]
            except (BlockingIOError, InterruptedError):
                return

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
        if self._unsent:
            self.send(b"", 0)
        data = os.pread(descriptor, min(size, _MOST_AT_ONCE), position)
        return self.send(data, 0) if data else 0

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._let_go()
        if not self._is_shaking:
            # The client learns that nothing was cut off; its answer is not waited for.
            with suppress(OSError, ValueError):
                self._tls.unwrap()
            with suppress(OSError):
                self._push()
        self._socket.close()

    def reset(self) -> None:
        self._let_go()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._socket.close()

    def _let_go(self) -> None:
        """Refer to the connection no more, by what was to be called and by the frames of an error.

        OpenSSL's memory goes with it, and waits for no garbage collector.
        """
        self._established = self._failed = _nothing
        self._end = None


def _nothing(_: object) -> None:
    pass


def _reason(error: OSError) -> str:
    """OpenSSL's words without its file names."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    return error.strerror or str(error)
