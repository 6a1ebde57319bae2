"""A sparse index's file: entries of one fixed size, sorted, appended to and searched.

The active segment's entries are kept in memory, in the file's own format, and written when the
segment is flushed, rolled or closed. That is enough, because an index is trusted only up to the
recovery point, and rebuilt from the log after it. Indexes of older segments stay on disk. A few
small reads search them there, so a thousand segments cost no memory and no descriptors.

Kafka maps the active index preallocated (10 MB), and trims it when the segment rolls. It takes a
file of exact size as well, so no meaningless zero is ever written here. An index left by a Kafka
that crashed ends in zeros: it is after the recovery point, and rebuilt.
"""

from __future__ import annotations

import errno
import os
import struct
from bisect import bisect_right
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

from kafkalite.log.files import Files, write_all

_Answer = TypeVar("_Answer")
# Entries of a file that are read by one call: 2 or 3 KB.
_READ_AT_ONCE: Final = 256


class IndexFile:
    """Entries of `layout`, in the order of their first field. One field is a relative offset."""

    layout: struct.Struct
    offset_field: int

    def __init__(self, directory: Path, name: str, base_offset: int, files: Files) -> None:
        self.directory = directory
        self.name = name
        self.base_offset = base_offset
        self._files = files
        self._entries: bytearray | None = None  # None: on disk only
        self._written = 0  # bytes of _entries that are in the file
        self._count = -1  # of entries, when on disk only; -1: not asked yet
        self._must_truncate = False

    @property
    def path(self) -> Path:
        return self.directory / self.name

    @property
    def count(self) -> int:
        """The number of entries."""
        if self._entries is not None:
            return len(self._entries) // self.layout.size
        if self._count < 0:
            try:
                self._count = self._files.size(self.path) // self.layout.size
            except FileNotFoundError:
                self._count = 0
        return self._count

    @property
    def size_bytes(self) -> int:
        return self.count * self.layout.size

    def is_sound(self) -> bool:
        """True if the file is there and holds whole entries."""
        try:
            return self._files.size(self.path) % self.layout.size == 0
        except FileNotFoundError:
            return False

    def load(self) -> None:
        """Take the entries into memory, to append to them."""
        if self._entries is None:
            try:
                entries = bytearray(self._files.read(self.path))
            except FileNotFoundError:
                entries = bytearray()
            del entries[len(entries) // self.layout.size * self.layout.size :]
            self._entries = entries
            self._written = len(entries)

    def unload(self) -> None:
        """Free the memory; entries that were not written are lost."""
        if self._entries is not None:
            self._count = self.count
            self._entries = None

    def reset(self) -> None:
        """Start again with no entries."""
        self._entries = bytearray()
        self._written = 0
        self._must_truncate = True

    def entry(self, i: int) -> tuple[Any, ...]:
        """The i-th entry's fields (negative: from the end)."""
        if i < 0:
            i += self.count
        if self._entries is not None:
            return self.layout.unpack_from(self._entries, i * self.layout.size)
        return self._on_disk(lambda descriptor: self._read_entry(descriptor, i))

    def count_up_to(self, value: int, field: int = 0) -> int:
        """The number of entries with at most `value` in the field, whose values ascend."""
        if self._entries is not None:
            return self._bisected(self._entries, value, field)
        if not self.count:
            return 0
        return self._on_disk(lambda descriptor: self._count_on_disk(descriptor, value, field))

    def search(self, value: int) -> tuple[Any, ...] | None:
        """The last entry whose first field is at most `value`; None if there is none."""
        if self._entries is None and self.count:
            return self._on_disk(lambda descriptor: self._search_on_disk(descriptor, value))
        i = self.count_up_to(value)
        return self.entry(i - 1) if i else None

    def _bisected(self, entries: bytes | bytearray, value: int, field: int) -> int:
        layout, size = self.layout, self.layout.size
        return bisect_right(
            range(len(entries) // size),
            value,
            key=lambda i: layout.unpack_from(entries, i * size)[field],
        )

    def _search_on_disk(self, descriptor: int, value: int) -> tuple[Any, ...] | None:
        i = self._count_on_disk(descriptor, value, 0)
        return self._read_entry(descriptor, i - 1) if i else None

    def _count_on_disk(self, descriptor: int, value: int, field: int) -> int:
        """`count_up_to` in the file, where the place is guessed: values ascend nearly evenly.

        Every second guess is the middle, for those that do not.
        """
        low, high = 0, self.count - 1
        low_value = self._read_entry(descriptor, low)[field]
        high_value = self._read_entry(descriptor, high)[field]
        if value < low_value:
            return 0
        if value >= high_value:
            return high + 1
        is_even = True
        while high - low >= _READ_AT_ONCE:
            middle = (high - low) // 2
            if is_even:
                middle = (high - low) * (value - low_value) // (high_value - low_value)
            is_even = not is_even
            start = max(low, min(low + middle - _READ_AT_ONCE // 2, high - _READ_AT_ONCE))
            block = self._read_entries(descriptor, start, _READ_AT_ONCE)
            first = self.layout.unpack_from(block)[field]
            last = self.layout.unpack_from(block, len(block) - self.layout.size)[field]
            if first > value:
                high, high_value = start, first
            elif last <= value:
                low, low_value = start + _READ_AT_ONCE - 1, last
            else:
                return start + self._bisected(block, value, field)
        block = self._read_entries(descriptor, low, high - low + 1)
        return low + self._bisected(block, value, field)

    def _on_disk(self, ask: Callable[[int], _Answer]) -> _Answer:
        """The answer to a question to the open file."""
        descriptor = self._files.open(self.path, os.O_RDONLY)
        try:
            return ask(descriptor)
        finally:
            self._files.close(descriptor)

    def _read_entry(self, descriptor: int, i: int) -> tuple[Any, ...]:
        return self.layout.unpack(self._read_entries(descriptor, i, 1))

    def _read_entries(self, descriptor: int, i: int, count: int) -> bytes:
        size = self.layout.size
        data = self._files.pread(descriptor, count * size, i * size)
        if len(data) < count * size:
            raise OSError(errno.EIO, "an index ends within an entry", str(self.path))
        return data

    def append_entry(self, *fields: int) -> None:
        self.load()
        assert self._entries is not None
        self._entries += self.layout.pack(*fields)

    def truncate_to(self, offset: int) -> None:
        """Drop every entry at or after `offset`."""
        self.load()
        count = self.count
        while count and self.base_offset + self.entry(count - 1)[self.offset_field] >= offset:
            count -= 1
        self.keep(count)

    def keep(self, count: int) -> None:
        """Drop all but the first `count` entries."""
        self.load()
        assert self._entries is not None
        size = count * self.layout.size
        if size < len(self._entries):
            del self._entries[size:]
            if size < self._written:
                self._written = size
                self._must_truncate = True

    def write(self, *, sync: bool = False) -> None:
        """Write the entries in memory to the file, made if it is not there.

        With `sync` they are flushed to the disk. Raises OSError: the disk is full, or worse.
        """
        if self._entries is None:
            return
        if self._must_truncate and not self._written and self._files.exists(self.path):
            # Built again: half of it would look sound to the next start.
            self._files.write_atomically(self.path, bytes(self._entries), sync=sync)
            self._written, self._must_truncate = len(self._entries), False
            return
        descriptor = self._files.open(self.path, os.O_WRONLY | os.O_CREAT)
        try:
            if self._must_truncate:
                self._files.truncate(descriptor, self._written)
                self._must_truncate = False
            rest = bytes(memoryview(self._entries)[self._written :])
            if rest:
                write_all(self._files, descriptor, rest, self._written)
                self._written += len(rest)
            if sync:
                self._files.sync(descriptor)
        finally:
            self._files.close(descriptor)

    def rename(self, directory: Path, name: str) -> None:
        """Rename the file, if there is one."""
        with suppress(FileNotFoundError):
            self._files.rename(self.path, directory / name)
        self.directory, self.name = directory, name
