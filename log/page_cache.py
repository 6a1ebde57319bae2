"""Reading without waiting for a disk: bytes in the page cache are read at once, others by a thread.

One loop serves all clients: while it waits for a disk, all of them wait. So the loop reads inside
of `cached_only`. There `Files.pread` raises `NotCached` instead of waiting, a thread calls the
exception's `read`, which waits, and then the loop reads again.

Linux's RWF_NOWAIT tells the two apart. On a file system without it all bytes count as cached, and
reads wait.
"""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from contextlib import suppress

# The bytes that are read from the first missing one on: those after it will be wanted next.
READ_AHEAD_BYTES = 1 << 20
# A file up to this size is read whole: an index is searched all over.
_WHOLE_BELOW_BYTES = 4 << 20
# The distance of the bytes that `is_cached` tries. Pages come and go in larger runs than this.
_STRIDE_BYTES = 1 << 19

_READ_BYTES = 1 << 20


class _Reading(threading.local):
    """The mode of this thread's reads: how many `cached_only` it is inside of."""

    depth = 0


_reading = _Reading()


class NotCached(Exception):
    """A read inside of `cached_only` would have to wait for the disk."""

    def __init__(self, descriptor: int, size: int, position: int) -> None:
        super().__init__(f"{size} bytes at {position}")
        # The reader may close its own descriptor before the bytes are here.
        self._descriptor = os.dup(descriptor)
        self._size = size
        self._position = position

    def read(self) -> None:
        """Wait until the bytes are in the page cache; to be called, once, in a thread."""
        descriptor, self._descriptor = self._descriptor, -1
        try:
            with suppress(OSError):  # the next read of these bytes raises it, too
                size = os.fstat(descriptor).st_size
                if size <= _WHOLE_BELOW_BYTES:
                    read_ahead(descriptor, size, 0)
                else:
                    read_ahead(descriptor, max(self._size, READ_AHEAD_BYTES), self._position)
        finally:
            os.close(descriptor)

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


class NotBrief(NotCached):
    """Work inside of `cached_only` would take long: a thread does it, and its result is found."""

    def __init__(self, work: Callable[[], object]) -> None:
        Exception.__init__(self, "it takes long")
        self._descriptor = -1
        self._work = work

    def read(self) -> None:
        """Do it, in a thread."""
        self._work()


class _CachedOnly:
    """Inside of `with cached_only:` a read that would have to wait raises NotCached.

    It holds for this thread, and for a block without `await`: only plain functions read.
    """

    def __enter__(self) -> None:
        _reading.depth += 1

    def __exit__(self, *_: object) -> None:
        _reading.depth -= 1


cached_only = _CachedOnly()


def is_cached_only() -> bool:
    """True inside of `cached_only`: a read must not wait here."""
    return _reading.depth > 0


def pread(descriptor: int, size: int, position: int) -> bytes:
    """`os.pread`. Raises OSError; NotCached inside of `cached_only` if it would have to wait."""
    if _reading.depth:
        data = pread_cached(descriptor, size, position)
        if data is None:
            raise NotCached(descriptor, size, position)
        return data
    return os.pread(descriptor, size, position)


def pread_cached(descriptor: int, size: int, position: int) -> bytes | None:
    """`os.pread` if it need not wait for the disk, else None. Raises OSError."""
    buffer = bytearray(size)
    try:
        count = os.preadv(descriptor, (buffer,), position, os.RWF_NOWAIT)
    except OSError as error:
        if error.errno == errno.EAGAIN:
            return None
        if error.errno in (errno.EOPNOTSUPP, errno.EINVAL):
            return os.pread(descriptor, size, position)
        raise
    if count == size:
        return bytes(buffer)
    # The end of the file, or of what is cached.
    if position + count >= os.fstat(descriptor).st_size:
        return bytes(buffer[:count])
    return None


def is_cached(descriptor: int, size: int, position: int) -> bool:
    """True if `size` bytes at `position` are in the page cache, judged by a few of them."""
    one = (bytearray(1),)
    try:
        for at in range(position, position + size, _STRIDE_BYTES):
            os.preadv(descriptor, one, at, os.RWF_NOWAIT)
        os.preadv(descriptor, one, position + size - 1, os.RWF_NOWAIT)
    except OSError as error:
        return error.errno != errno.EAGAIN
    return True


def read_ahead(descriptor: int, size: int, position: int) -> None:
    """Wait until `size` bytes are in the page cache; to be called in a thread. Raises OSError.

    It reads them plainly, so the kernel reads ahead in large folios. With posix_fadvise they would
    come in single pages, and sending those costs twice the processor time.
    """
    buffer = bytearray(min(size, _READ_BYTES))
    end = position + size
    while position < end:
        count = os.preadv(descriptor, (buffer,), position)
        if not count:
            return
        position += count
