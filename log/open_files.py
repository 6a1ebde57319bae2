"""Files that are open only while they are used, within a limit on descriptors.

A broker with 10,000 partitions has more segments than a process may have descriptors. A `LogFile`
opens itself when it is first read or written. When too many are open, `OpenFiles` closes those that
were not used lately. A `FileSlice` on its way to a client holds its file open (`retain`,
`release`), past the segment's deletion. The brokers of one process share the descriptors: one that
takes another's place opens its files while the other's are still open.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Final, Protocol, Self

from kafkalite.log import page_cache
from kafkalite.log.files import FILES, Files, write_all

# The files' share of the process's descriptors; sockets and everything else have the rest.
_SHARE_OF_DESCRIPTORS: Final = 0.5
_FEWEST_OPEN_FILES: Final = 16
# The most files that are looked at, and spared for their last use, when one is opened.
_MOST_LOOKED_AT: Final = 128
_MOST_SPARED: Final = 32


def default_limit() -> int:
    """Half of the descriptors that this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(_FEWEST_OPEN_FILES, int(soft * _SHARE_OF_DESCRIPTORS))


class SegmentWatcher(Protocol):
    """A function to call when a segment is rolled or deleted."""

    def __call__(self, kind: str, why: str, /, *, log: str, base_offset: int) -> None:
        """`kind` is "rolled" or "deleted", `log` the partition's name."""
        ...


class OpenFiles:
    """The files that are open now: at most `limit`, unless more are being sent.

    Without a limit of its own it has what others of this process leave of `default_limit`.
    """

    def __init__(self, limit: int | None = None, files: Files = FILES) -> None:
        self.files = files
        self._limit = default_limit() if limit is None else limit
        self._is_sharing = limit is None
        # Told by every log whose files these are.
        self.segment_watcher: SegmentWatcher | None = None
        self._open: dict[LogFile, None] = {}

    def __len__(self) -> int:
        return len(self._open)

    @property
    def limit(self) -> int:
        """The most that may be open now. Others' files stay open: another thread may use them."""
        if not self._is_sharing:
            return self._limit
        return max(_FEWEST_OPEN_FILES, self._limit - _shared.count + len(self._open))

    def opened(self, file: LogFile) -> None:
        """Take note of a file that was just opened, and close others if there are too many."""
        if file not in self._open:
            self._count(1)
        self._open[file] = None
        if len(self._open) <= _FEWEST_OPEN_FILES and self._is_sharing:
            return
        limit = self.limit
        # A file that was used since the last look is spared once ("second chance"). This is nearly
        # least recently used, and using a file costs one assignment only. But not very many are
        # spared, or looked at, in one go: where all were used, that would take 50 ms.
        for looked_at in range(min(2 * len(self._open), _MOST_LOOKED_AT)):
            if len(self._open) <= limit:
                return
            oldest = next(iter(self._open))
            del self._open[oldest]
            is_spared = oldest.used and looked_at < _MOST_SPARED
            if oldest is file or oldest.in_use or is_spared:
                oldest.used = False
                self._open[oldest] = None
            else:
                self._count(-1)
                oldest.close_descriptor()

    def closed(self, file: LogFile) -> None:
        if file in self._open:
            self._count(-1)
            del self._open[file]

    def _count(self, difference: int) -> None:
        if self._is_sharing:
            _shared.change(difference)


class _Shared:
    """The number of files that are open in all brokers of the process, which may have threads."""

    def __init__(self) -> None:
        self.count = 0
        self._lock = Lock()

    def change(self, difference: int) -> None:
        with self._lock:
            self.count += difference


_shared: Final = _Shared()


class LogFile:
    """One file, opened when needed, read and written by position."""

    __slots__ = (
        "_closing",
        "_descriptor",
        "_files",
        "_open_files",
        "_references",
        "directory",
        "name",
        "used",
    )

    def __init__(self, directory: Path, name: str, open_files: OpenFiles) -> None:
        # Apart, as a whole log may be moved at once.
        self.directory = directory
        self.name = name
        self.used = False
        self._open_files = open_files
        self._files = open_files.files
        self._descriptor = -1
        self._references = 0
        self._closing = False

    @property
    def path(self) -> Path:
        return self.directory / self.name

    @property
    def in_use(self) -> bool:
        """True if a FileSlice needs the descriptor."""
        return self._references > 0

    def create(self) -> None:
        """Make the file, which may be there already, and open it."""
        self._open(os.O_RDWR | os.O_CREAT)

    def descriptor(self) -> int:
        """The descriptor, opened if need be. Valid until the next file is opened.

        Raises:
            OSError: the file is not there, or cannot be opened.
        """
        self.used = True
        if self._descriptor < 0:
            # Never O_CREAT: a segment that vanished must not come back empty.
            self._open(os.O_RDWR)
        return self._descriptor

    def _open(self, flags: int) -> None:
        self._descriptor = self._files.open(self.path, flags)
        self._closing = False
        self._open_files.opened(self)

    def pread(self, size: int, position: int) -> bytes:
        return self._files.pread(self.descriptor(), size, position)

    def write(self, data: bytes | memoryview | bytearray, position: int) -> None:
        """Write `data` at `position`. Raises OSError."""
        self.used = True
        descriptor = self._descriptor
        if descriptor < 0:
            descriptor = self.descriptor()
        if self._files.pwrite(descriptor, data, position) != len(data):
            write_all(self._files, descriptor, data, position)

    def truncate(self, size: int) -> None:
        self._files.truncate(self.descriptor(), size)

    def sync(self) -> None:
        self._files.sync(self.descriptor())

    def rename(self, directory: Path, name: str) -> None:
        self._files.rename(self.path, directory / name)
        self.directory, self.name = directory, name

    def retain(self) -> None:
        """Hold the descriptor open until `release`."""
        self.descriptor()
        self._references += 1

    def release(self) -> None:
        self._references -= 1
        if self._closing and not self._references:
            self.close()

    def close_descriptor(self) -> None:
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            self._files.close(descriptor)

    def close(self) -> None:
        """Close now, or when the last FileSlice is released."""
        if self.in_use:
            self._closing = True
            return
        self._open_files.closed(self)
        self.close_descriptor()


class FileSlice:
    """Bytes of a file, for `os.sendfile`: the records of a Fetch response.

    The file is open until `close`. Retention and compaction may delete it meanwhile: the bytes stay
    as long as the descriptor.
    """

    __slots__ = ("_file", "position", "size")

    def __init__(self, file: LogFile, position: int, size: int) -> None:
        self._file: LogFile | None = None  # for `__del__`, if the file cannot be opened
        file.retain()
        self._file = file
        self.position = position
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return (
            f"FileSlice(position={self.position}, size={self.size}, open={self._file is not None})"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def __del__(self) -> None:
        # A response that is dropped, because its connection died, must not keep a file open.
        self.close()

    def fileno(self) -> int:
        """The descriptor to send from. Raises ValueError after `close`."""
        if self._file is None:
            raise ValueError("the slice is closed")
        return self._file.descriptor()

    def read(self) -> bytes:
        """The bytes; fewer than `size` if the file was truncated since. Raises OSError."""
        if self._file is None:
            raise ValueError("the slice is closed")
        return self._file.pread(self.size, self.position)

    def read_cached(self) -> bytes | None:
        """The bytes, as from `read`, if that need not wait for a disk, else None.

        Raises OSError.
        """
        return page_cache.pread_cached(self.fileno(), self.size, self.position)

    def is_cached(self, size: int) -> bool:
        """True if the first `size` bytes can be sent without waiting for a disk."""
        return page_cache.is_cached(self.fileno(), size, self.position)

    def read_ahead(self, size: int) -> None:
        """Wait, in a thread, until the first `size` bytes are cached. Raises OSError."""
        page_cache.read_ahead(self.fileno(), size, self.position)

    def advance(self, count: int) -> None:
        """Drop the first `count` bytes, which have been sent."""
        self.position += count
        self.size -= count

    def close(self) -> None:
        """Let the file go; closing twice is no error."""
        file, self._file = self._file, None
        if file is not None:
            file.release()


def close_slices(chunks: Sequence[object]) -> None:
    """Close the file slices among `chunks`."""
    for chunk in chunks:
        if isinstance(chunk, FileSlice):
            chunk.close()
