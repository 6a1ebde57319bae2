"""A log segment: a file of batches, and the three indexes beside it, to append to.

`LogSegment` is appended to, cut, renamed and deleted. `ReadableSegment` finds its batches. Source:
Kafka's LogSegment, FileRecords.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Final

from kafkalite.log.config import LogConfig
from kafkalite.log.files import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_file_name,
)
from kafkalite.log.offset_index import MAX_RELATIVE_OFFSET
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.readable_segment import UNREAD, ReadableSegment
from kafkalite.wire.record_batch import NO_TIMESTAMP

# A number of this module is a constant in its machine code.
_MOST_RELATIVE: Final = MAX_RELATIVE_OFFSET
# Up to here it costs less to copy a batch than to write it by two calls.
_COPIED_BYTES: Final = 32768


class LogSegment(ReadableSegment):
    """One segment. All positions are bytes in its `.log` file; `size` is that file's."""

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

    @classmethod
    def create(
        cls,
        directory: Path,
        base_offset: int,
        open_files: OpenFiles,
        *,
        now_ms: int,
        second_suffix: str = "",
    ) -> LogSegment:
        """A new, empty segment. Raises OSError.

        A log's first segment has no file before its first batch: ten thousand empty partitions are
        ten thousand directories, no more. The file of any later segment is made here: its name
        tells where the log goes on when everything before it is deleted.
        """
        segment = cls(directory, base_offset, open_files, second_suffix=second_suffix)
        segment.created_ms = now_ms
        segment._largest_timestamp = NO_TIMESTAMP
        segment._has_file = False
        for index in segment.indexes:
            index.reset()
        if base_offset:
            segment.ensure_file()
        return segment

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

    @classmethod
    def open(
        cls, directory: Path, base_offset: int, open_files: OpenFiles, *, second_suffix: str = ""
    ) -> LogSegment:
        """A segment that is there. Raises OSError."""
        segment = cls(directory, base_offset, open_files, second_suffix=second_suffix)
        segment.size = open_files.files.size(segment.file.path)
        segment.created_ms = open_files.files.modified_ms(segment.file.path)
        return segment

    # -- appending

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

    def must_roll(
        self,
        size: int,
        last_offset: int,
        timestamp: int,
        now_ms: int,
        config: LogConfig,
        roll_jitter_ms: int,
        index_bytes: int,
    ) -> bool:
        """True if a batch of this size, last offset and largest timestamp needs a new segment.

        The segment's age goes by its records' timestamps, if they have any. Source: Kafka's
        LogSegment.shouldRoll. Raises OSError.
        """
        if self.size > config.segment_bytes - size:
            return True
        if not self.takes_offset(last_offset):
            return True
        if not self.size:
            return False
        first = self._first_timestamp
        if first is None:
            first = self.first_timestamp
        waited_ms = timestamp - first if first >= 0 else now_ms - self.created_ms
        if waited_ms > config.max_segment_ms - roll_jitter_ms:
            return True
        if self._is_index_full is None:
            self._is_index_full = self.is_index_full(index_bytes)
        return self._is_index_full

    def modified_ms(self) -> int:
        """The time of the last write to the file, or of the segment's making. Raises OSError."""
        return self._files.modified_ms(self.file.path) if self._has_file else self.created_ms

    def set_modified_ms(self, modified_ms: int) -> None:
        self._files.set_modified_ms(self.file.path, modified_ms)

    def largest_or_modified_ms(self) -> int:
        """The largest timestamp, or `modified_ms` if there is none. Raises OSError."""
        if self._largest_timestamp == UNREAD:
            self.read_largest()
        timestamp = self._largest_timestamp
        return timestamp if timestamp >= 0 else self.modified_ms()

    def takes_offset(self, offset: int) -> bool:
        """True if `offset` fits the four bytes of the indexes."""
        return 0 <= offset - self.base_offset <= _MOST_RELATIVE

    def is_index_full(self, max_index_bytes: int) -> bool:
        """True if an index has reached so many; the time index keeps a place for a last entry."""
        offset_index, time_index = self.offset_index, self.time_index
        return (
            offset_index.count >= max_index_bytes // offset_index.layout.size
            or time_index.count >= max_index_bytes // time_index.layout.size - 1
        )

    def reset(self) -> None:
        """Empty the indexes: recovery fills them again."""
        for index in self.indexes:
            index.reset()
        self._first_timestamp = None
        self._largest_timestamp, self._largest_offset = NO_TIMESTAMP, self.base_offset
        self._is_index_full = None
        self._bytes_since_index_entry = 0
        self._recent.forget()

    def cut(self, position: int) -> None:
        """Remove all bytes after `position`. Raises OSError."""
        self._nothing_is_ahead()
        if position < self.size:
            self.file.truncate(position)
            self.size = position

    # -- becoming inactive, truncating, leaving

    def finish_indexes(self) -> None:
        """Write the indexes; the time index ends with the largest timestamp. Raises OSError."""
        if not self._has_file:
            return
        for index in (self.offset_index, self.time_index):
            index.load()
        if self.largest.timestamp >= 0:
            self.time_index.maybe_append(*self.largest)
        self.write_indexes()
        self.transaction_index.write()

    def write_indexes(self, *, sync: bool = False) -> None:
        """Write the new entries of the offset and time index. Raises OSError."""
        for index in (self.offset_index, self.time_index):
            index.write(sync=sync)

    def become_inactive(self) -> None:
        """Finish the indexes of a segment that rolled, and free memory. Raises OSError."""
        self.forget_ahead()
        self.finish_indexes()
        self.offset_index.unload()
        self.time_index.unload()
        self._recent.forget()

    def flush(self) -> None:
        """Flush the batches, then the indexes. Raises OSError."""
        if self._has_file:
            self.file.sync()
            self.write_indexes(sync=True)
            self.transaction_index.write(sync=True)

    def truncate_to(self, offset: int) -> int:
        """Remove all batches that end at or after `offset`; returns the segment's end offset.

        Raises KafkaError(CORRUPT_MESSAGE), OSError.
        """
        self.forget_ahead()
        found = self.find(offset)
        end = offset
        for index in self.indexes:
            index.truncate_to(offset)
        if found is not None:
            position, batch = found
            end = min(offset, batch.base_offset)
            self.file.truncate(position)
            self.size = position
        self.write_indexes()
        self.transaction_index.write()
        self._recent.forget()
        self._first_timestamp = None
        self._is_index_full = None
        self._bytes_since_index_entry = 0
        self._largest_timestamp = UNREAD
        if self.size:
            self._largest_timestamp, self._largest_offset = self._scan_largest()
        return end

    def rename(self, directory: Path, second_suffix: str) -> None:
        """Rename all files to another directory or second suffix. Raises OSError."""

        def name(suffix: str) -> str:
            return segment_file_name(self.base_offset, suffix, second_suffix)

        # The log comes first: recovery goes by it (README.md, crash states).
        if self._has_file:
            self.file.rename(directory, name(LOG_SUFFIX))
        self.file.directory, self.file.name = directory, name(LOG_SUFFIX)
        self.offset_index.rename(directory, name(OFFSET_INDEX_SUFFIX))
        self.time_index.rename(directory, name(TIME_INDEX_SUFFIX))
        self.transaction_index.rename(directory, name(TRANSACTION_INDEX_SUFFIX))

    def close(self) -> None:
        """Let go of the file. Index entries not written yet are lost: recovery rebuilds them."""
        self._nothing_is_ahead()
        self.file.close()

    def unlink(self) -> None:
        """Delete the files; slices being sent keep their bytes. Raises OSError."""
        self.close()
        self.remove_files()

    def remove_files(self) -> None:
        """The same once it is closed; a thread may do it. Raises OSError."""
        for index in self.indexes:
            self._files.unlink(index.path)
        self._files.unlink(self.file.path)
