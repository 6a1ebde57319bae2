"""A log segment that is appended to: its file, and what is known of the batches at its end.

Source: Kafka's LogSegment.append, FileRecords.append.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from kafkalite.log.config import LogConfig
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.readable_segment import UNREAD, ReadableSegment

# Up to here it costs less to copy a batch than to write it by two calls.
_COPIED_BYTES: Final = 32768

# Size, bytes since the last index entry, first timestamp, largest timestamp and its offset.
SegmentState: TypeAlias = "tuple[int, int, int | None, int, int]"


class GrowingSegment(ReadableSegment):
    """A segment at whose end batches are written. `size` is the size of its `.log` file."""

    def __init__(
        self, directory: Path, base_offset: int, open_files: OpenFiles, *, second_suffix: str = ""
    ) -> None:
        super().__init__(directory, base_offset, open_files, second_suffix=second_suffix)
        self.created_ms = 0
        self._bytes_since_index_entry = 0
        # True if an index is full; None: to be found out, after each entry.
        self._is_index_full: bool | None = None
        self._has_file = True
        # Up to here the file has batches that were written with the ones before them.
        self._ahead_end = 0
        # The rest of the batch that is appended next, and how much of it the file has.
        self._next_rest: bytes | memoryview | None = None
        self._next_written = 0

    def ensure_file(self) -> None:
        """Make the file, if it is not there yet. Raises OSError."""
        if self._has_file:
            return
        try:
            self.file.create()
            self.file.truncate(0)
        except OSError:
            # An empty file left would be taken for a segment at the next start.
            self.file.close()
            with suppress(OSError):
                self._files.unlink(self.file.path)
            raise
        self._has_file = True

    def append(
        self,
        head: bytes,
        rest: bytes | memoryview,
        size: int,
        base_offset: int,
        last_offset: int,
        max_timestamp: int,
        index_interval_bytes: int,
    ) -> None:
        """Write one batch of `size` bytes at the end: its head, and the rest of it.

        Raises OSError: the disk is full, or worse. The file is cut back, and nothing has changed.
        """
        position = self.size
        if not self._has_file:
            self.ensure_file()
        try:
            if size <= _COPIED_BYTES:
                self.file.write(head + rest, position)
            else:
                done = self._next_written if rest is self._next_rest else 0
                self.file.write(head, position)
                self.file.write(memoryview(rest)[done:], position + len(head) + done)
        except OSError:
            self._cut_back()
            raise
        self.size = position + size
        if self._next_written:
            self.forget_ahead()
        self.note_batch(
            position, size, base_offset, last_offset, max_timestamp, index_interval_bytes
        )

    def append_later(
        self,
        size: int,
        base_offset: int,
        last_offset: int,
        max_timestamp: int,
        index_interval_bytes: int,
    ) -> None:
        """Take note of a batch at the end, which the caller writes later (joined_writes.py)."""
        position = self.size
        self.size = position + size
        self.note_batch(
            position, size, base_offset, last_offset, max_timestamp, index_interval_bytes
        )

    @property
    def has_ahead(self) -> bool:
        """True if the file has a piece of a batch that is not appended yet."""
        return bool(self._next_written or self._ahead_end)

    @property
    def state(self) -> SegmentState:
        """All that appends change, for `take_back`; its size is the first."""
        return (
            self.size,
            self._bytes_since_index_entry,
            self._first_timestamp,
            self._largest_timestamp,
            self._largest_offset,
        )

    def take_back(self, state: SegmentState, offset: int) -> None:
        """Be as before the appends from `offset` on, none of which is wholly in the file.

        The time index may have an entry more, of a batch before them.
        """
        (
            self.size,
            self._bytes_since_index_entry,
            self._first_timestamp,
            self._largest_timestamp,
            self._largest_offset,
        ) = state
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self._is_index_full = None
        self._recent.forget()
        self._cut_back()

    def append_first(
        self,
        source: memoryview,
        size: int,
        base_offset: int,
        last_offset: int,
        max_timestamp: int,
        config: LogConfig,
    ) -> None:
        """Append the first batch of `source`, of `size` bytes, as it is.

        What is behind it and has room here is written with it. Each such batch is appended in its
        turn, which then writes nothing, or `forget_ahead` is called. Raises OSError, as `append`.
        """
        if self._next_written:
            self.forget_ahead()
        position = self.size
        if not self._has_file:
            self.ensure_file()
        if position + size > self._ahead_end:
            room = max(size, config.segment_bytes - position)
            try:
                self.file.write(source[:room], position)
            except OSError:
                self._cut_back()
                raise
            self._ahead_end = position + min(room, len(source))
        self.size = position + size
        self.note_batch(
            position, size, base_offset, last_offset, max_timestamp, config.most_unindexed_bytes
        )

    def write_ahead(self, head: bytes, rest: bytes | memoryview, most_bytes: int) -> bool:
        """Write a piece of the batch that is to be appended next; True if one piece is left.

        `append` then writes that. It begins anew if anything was appended since the last piece, and
        writes nothing while another batch is ahead. Raises OSError.
        """
        if rest is not self._next_rest:
            if self._next_written:
                return False
            self._next_rest = rest
        if not self._has_file:
            self.ensure_file()
        done, position = self._next_written, self.size
        piece = memoryview(rest)[done : done + most_bytes]
        try:
            if not done:
                self.file.write(head, position)
            self.file.write(piece, position + len(head) + done)
        except OSError:
            self._cut_back()
            raise
        self._next_written = done + len(piece)
        self._ahead_end = position + len(head) + self._next_written
        return self._next_written + most_bytes >= len(rest)

    def forget_ahead(self, rest: bytes | memoryview | None = None) -> None:
        """Cut off what was written and not appended; if `rest` is given, only that."""
        if rest is None or rest is self._next_rest:
            if self._ahead_end > self.size:
                self._cut_back()
            self._nothing_is_ahead()

    def _cut_back(self) -> None:
        # If even this fails, the next append writes over the bytes, and recovery would cut them.
        with suppress(OSError):
            self.file.truncate(self.size)
        self._nothing_is_ahead()

    def _nothing_is_ahead(self) -> None:
        self._ahead_end = self._next_written = 0
        self._next_rest = None

    def note_batch(
        self,
        position: int,
        size: int,
        base_offset: int,
        last_offset: int,
        max_timestamp: int,
        index_interval_bytes: int,
    ) -> None:
        """Index a batch that is in the file at `position`: just appended, or found by recovery."""
        if position == 0:
            self._first_timestamp = max_timestamp
        if self._largest_timestamp == UNREAD:
            self.read_largest()
        if max_timestamp > self._largest_timestamp:
            self._largest_timestamp, self._largest_offset = max_timestamp, last_offset
        if self._bytes_since_index_entry > index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(*self.largest)
            self._bytes_since_index_entry = 0
            self._is_index_full = None
        self._bytes_since_index_entry += size
        self._recent.note(base_offset, last_offset + 1, position)
