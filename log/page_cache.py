"""What can be read without waiting for a disk, and how not to wait for the rest.

One loop serves everybody: while it waits for a disk, so does everybody else. A reader of what is
not in the page cache may take as long as the disk takes, others not. So the loop reads inside of
`cached_only`, where `Files.pread` raises `NotCached` instead of waiting; the exception's `read`
goes and waits in a thread, and then the loop reads again.

Linux's RWF_NOWAIT tells. Where a file system does not know it, everything passes for cached: reads
wait, as they would without this.
"""

from __future__ import annotations

import errno
import os
import threading
from contextlib import suppress

# What is read with what was missing: the bytes behind it will be wanted next.
READ_AHEAD_BYTES = 1 << 20
# A file up to this size is read whole: an index, which is searched here and there.
_WHOLE_BELOW_BYTES = 4 << 20
# How far apart two bytes are that are looked at. Pages come and go in larger runs than this.
_STRIDE_BYTES = 1 << 19

_READ_BYTES = 1 << 20


class _Reading(threading.local):
    """What this thread's reads may do."""

    cached_only = False


_reading = _Reading()


class NotCached(Exception):
    """Bytes that are on the disk only were to be read inside of `cached_only`."""

    def __init__(self, descriptor: int, size: int, position: int) -> None:
        super().__init__(f"{size} bytes at {position}")
        # Whoever reads may close theirs before the bytes are here.
        self._descriptor = os.dup(descriptor)
        self._size = size
        self._position = position

    def read(self) -> None:
        """Wait until the bytes are in the page cache; to be called, once, in a thread."""
        descriptor, self._descriptor = self._descriptor, -1
        try:
            with suppress(OSError):  # whoever reads them next will see it, too
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


class _CachedOnly:
    """Where reading what is not in the page cache raises NotCached: `with cached_only:`."""

    def __enter__(self) -> None:
        _reading.cached_only = True

    def __exit__(self, *_: object) -> None:
        _reading.cached_only = False


cached_only = _CachedOnly()


def pread(descriptor: int, size: int, position: int) -> bytes:
    """`os.pread`; inside of `cached_only`, if it need not wait. Raises OSError, NotCached."""
    if _reading.cached_only:
        data = pread_cached(descriptor, size, position)
        if data is None:
            raise NotCached(descriptor, size, position)
        return data
    return os.pread(descriptor, size, position)


def pread_cached(descriptor: int, size: int, position: int) -> bytes | None:
    """`os.pread` if it need not wait, else None. Raises OSError."""
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
    """True if `size` bytes at `position` are in the page cache, as far as a few of them tell."""
    one = (bytearray(1),)
    try:
        for at in range(position, position + size, _STRIDE_BYTES):
            os.preadv(descriptor, one, at, os.RWF_NOWAIT)
        os.preadv(descriptor, one, position + size - 1, os.RWF_NOWAIT)
    except OSError as error:
        return error.errno != errno.EAGAIN
    return True


def read_ahead(descriptor: int, size: int, position: int) -> None:
    """Wait until so many bytes are in the page cache; to be called in a thread. Raises OSError.

    By plain reads: so the kernel reads ahead as for anybody who reads on, in large folios. What it
    is told to read by posix_fadvise comes in single pages, and to send those costs twice the
    processor time.
    """
    buffer = bytearray(min(size, _READ_BYTES))
    end = position + size
    while position < end:
        count = os.preadv(descriptor, (buffer,), position)
        if not count:
            return
        position += count
