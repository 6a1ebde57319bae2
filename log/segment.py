"""A log segment: a file of batches, and the three indexes beside it, to append to.

`LogSegment` is rolled, cut, renamed and deleted. `GrowingSegment` is appended to, `ReadableSegment`
finds its batches. Source: Kafka's LogSegment, FileRecords.
"""

from __future__ import annotations

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
from kafkalite.log.growing_segment import GrowingSegment
from kafkalite.log.offset_index import MAX_RELATIVE_OFFSET
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.readable_segment import UNREAD
from kafkalite.wire.record_batch import NO_TIMESTAMP

# A number of this module is a constant in its machine code.
_MOST_RELATIVE: Final = MAX_RELATIVE_OFFSET


class LogSegment(GrowingSegment):
    """One segment. All positions are bytes in its `.log` file; `size` is that file's."""

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

    @classmethod
    def open(
        cls, directory: Path, base_offset: int, open_files: OpenFiles, *, second_suffix: str = ""
    ) -> LogSegment:
        """A segment that is there. Raises OSError."""
        segment = cls(directory, base_offset, open_files, second_suffix=second_suffix)
        segment.size = open_files.files.size(segment.file.path)
        segment.created_ms = open_files.files.modified_ms(segment.file.path)
        return segment

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
