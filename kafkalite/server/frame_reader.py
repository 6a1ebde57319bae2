"""From received bytes to whole frames, without sockets: int32 size, then that many bytes.

Small frames come by the dozen in one `recv` and are cut out of what was received. A frame larger
than one `recv` gets a buffer of its own, kept from frame to frame, into which the
socket's bytes are received directly:

    room = reader.room()
    if room is None:  reader.feed(sock.recv(RECEIVE_BYTES))
    else:             reader.filled(sock.recv_into(room))
    while (frame := reader.next_frame()) is not None: ...

A view handed out is good until the next frame is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from struct import Struct
from typing import TYPE_CHECKING, Final

from kafkalite.wire.errors import ProtocolViolation

if TYPE_CHECKING:
    from kafkalite.server.frame_memory import FrameClaim

RECEIVE_BYTES: Final = 65536
# The same for a large frame. The system's buffer may hold 32 MB: so many milliseconds at once.
_LARGE_AT_ONCE: Final = 1 << 20
# A frame may announce far more than it ever sends: the buffer grows with the bytes that came.
_FIRST_ROOM_BYTES: Final = 128 * 1024
# Larger buffers are given back after their frame, or every connection would keep its largest. A
# Produce of the clients' default max.request.size (1 MiB) stays below.
_KEEP_BELOW_BYTES: Final = 1280 * 1024

# A larger buffer is mapped, for the whole frame at once: the kernel gives it memory as bytes come
# in. To fill 64 MB with zeros and copy half of it would hold the loop for 50 ms.
_MAPPED_BYTES: Final = 8 * 1024 * 1024

# Parsing bytes is quicker than parsing a view, by more than it costs to copy a small frame.
_COPY_BELOW_BYTES: Final = 8192

_SIZE: Final = Struct(">i")

# A TLS record of a handshake begins with its type and version; HTTP with a method.
_OTHER_PROTOCOLS: Final = (
    (b"\x16\x03", "TLS"),
    (b"GET ", "HTTP"),
    (b"POST", "HTTP"),
    (b"HEAD", "HTTP"),
)


class FrameReader:
    """Cuts one connection's input into frames of at most `max_frame_bytes`.

    With `claim`, memory for each large frame is claimed before it is received.
    """

    __slots__ = (
        "_answering",
        "_claimed",
        "_data",
        "_filled",
        "_large",
        "_large_size",
        "_position",
        "claim",
        "max_frame_bytes",
    )

    def __init__(self, max_frame_bytes: int) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._data = b""
        self._position = 0
        self._large: bytearray | mmap = bytearray()
        self._large_size = 0  # of the large frame being received; 0: there is none
        self._filled = 0
        self.claim: Callable[[int], FrameClaim] | None = None
        # Memory of the large frame that comes in, and of the one that is being answered.
        self._claimed: FrameClaim | None = None
        self._answering: FrameClaim | None = None

    @property
    def waits_for_memory(self) -> bool:
        """True if the next frame is not to be received yet."""
        return self._claimed is not None and not self._claimed.is_granted

    @property
    def has_input(self) -> bool:
        """True if anything beyond the frames handed out was received."""
        return self._position < len(self._data) or self._large_size > 0

    def feed(self, data: bytes) -> None:
        """Take what `recv` returned."""
        if self._position < len(self._data):
            data = self._data[self._position :] + data
        self._data = data
        self._position = 0

    def room(self) -> memoryview | None:
        """The buffer for what comes next of a large frame. None when `feed` is to be used."""
        if not self._large_size:
            return None
        if self._filled == len(self._large):
            self._large = self._grown()
        end = min(self._large_size, self._filled + _LARGE_AT_ONCE)
        return memoryview(self._large)[self._filled : end]

    def _grown(self) -> bytearray | mmap:
        size = min(self._large_size, 2 * len(self._large))
        grown: bytearray | mmap
        if size < _MAPPED_BYTES:
            grown = bytearray(size)
        else:
            grown = mmap(-1, self._large_size, flags=MAP_PRIVATE | MAP_ANONYMOUS)
        grown[: self._filled] = self._large
        return grown

    def filled(self, count: int) -> None:
        """`count` bytes were received into `room()`."""
        self._filled += count

    def next_frame(self) -> bytes | memoryview | None:
        """The next whole frame, without its size; None when more has to be received first.

        Raises ProtocolViolation for a size that is negative or above the limit.
        """
        if self._large_size:
            return self._finish_large()
        if self._answering is not None:
            self.answered()
        data, position = self._data, self._position
        if len(data) - position < 4:
            return None
        size: int = _SIZE.unpack_from(data, position)[0]
        if not 0 <= size <= self.max_frame_bytes:
            raise ProtocolViolation(self._not_a_size(data[position : position + 4], size))
        start = position + 4
        if start + size <= len(data):
            end = self._position = start + size
            return data[start:end] if size < _COPY_BELOW_BYTES else memoryview(data)[start:end]
        if size > RECEIVE_BYTES and (self.claim is None or self._is_granted(size)):
            self._start_large(size, memoryview(data)[start:])
        return None

    def answered(self) -> None:
        """The frame that was handed out is needed no more."""
        claim, self._answering = self._answering, None
        if claim is not None:
            claim.memory.give_back(claim)

    def discard(self) -> None:
        """Forget what was received."""
        self.answered()
        self._answering, self._claimed = self._claimed, None
        self.answered()
        self._data = b""
        self._position = 0
        self._large = bytearray()
        self._large_size = 0

    def _is_granted(self, size: int) -> bool:
        if self._claimed is None and self.claim is not None:
            self._claimed = self.claim(size)
        return not self.waits_for_memory

    def _not_a_size(self, received: bytes, size: int) -> str:
        """Words for four bytes that are no size: often another protocol's first ones."""
        for first, protocol in _OTHER_PROTOCOLS:
            if received.startswith(first):
                return f"{protocol} was spoken to a plaintext port"
        return f"a frame of {size} bytes (socket.request.max.bytes is {self.max_frame_bytes})"

    def _start_large(self, size: int, received: memoryview) -> None:
        if len(self._large) < min(size, _FIRST_ROOM_BYTES) or len(self._large) > _KEEP_BELOW_BYTES:
            self._large = bytearray(min(size, _FIRST_ROOM_BYTES))
        self._large[: len(received)] = received
        self._large_size = size
        self._filled = len(received)
        self._data = b""
        self._position = 0

    def _finish_large(self) -> memoryview | None:
        if self._filled < self._large_size:
            return None
        frame = memoryview(self._large)[: self._large_size]
        self._large_size = 0
        self._answering, self._claimed = self._claimed, None
        if len(self._large) > _KEEP_BELOW_BYTES or self.claim is not None:
            self._large = bytearray()  # the view keeps the old one alive as long as it is needed
        return frame
