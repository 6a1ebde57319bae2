"""A log segment: a file of batches, and the three indexes that say where in it to look.

`LogSegment` appends at the end, finds the batch that holds an offset or the first record from a
timestamp on, reads slices for consumers, and can be recovered: scanned, cut where it is torn, its
indexes rebuilt. Source: Kafka's LogSegment, FileRecords.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kafkalite.log.config import LogConfig
from kafkalite.log.file_records import read_batches
from kafkalite.log.files import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_file,
)
from kafkalite.log.offset_index import MAX_RELATIVE_OFFSET, OffsetIndex
from kafkalite.log.open_files import FileSlice, LogFile, OpenFiles
from kafkalite.log.recent_batches import RecentBatches
from kafkalite.log.time_index import TimeIndex
from kafkalite.log.transaction_index import TransactionIndex
from kafkalite.wire.record_batch import (
    NO_TIMESTAMP,
    RecordBatch,
    iterate_records,
)


class TimestampAndOffset(NamedTuple):
    """A timestamp in milliseconds and the offset that has it."""

    timestamp: int
    offset: int


class LogSegment:
    """One segment. All positions are bytes in its `.log` file; `size` is that file's."""

    def __init__(
        self, directory: Path, base_offset: int, open_files: OpenFiles, *, second_suffix: str = ""
    ) -> None:
        def path(suffix: str) -> Path:
            return segment_file(directory, base_offset, suffix, second_suffix)

        files = open_files.files
        self.base_offset = base_offset
        self.size = 0
        self.file = LogFile(path(LOG_SUFFIX), open_files)
        self.offset_index = OffsetIndex(path(OFFSET_INDEX_SUFFIX), base_offset, files)
        self.time_index = TimeIndex(path(TIME_INDEX_SUFFIX), base_offset, files)
        self.transaction_index = TransactionIndex(
            path(TRANSACTION_INDEX_SUFFIX), base_offset, files
        )
        self.created_ms = 0
        # When the segment rolls depends on its first batch's timestamp; None: not read yet.
        self._first_timestamp: int | None = None
        self._largest: TimestampAndOffset | None = None
        self._bytes_since_index_entry = 0
        # Whether an index is full; None: to be found out, after each entry.
        self._is_index_full: bool | None = None
        self._recent = RecentBatches()
        self._has_file = True
        self._files = files

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

        A log's first has no file before its first batch: ten thousand empty partitions are ten
        thousand directories, no more. Any later segment's file is made here, because its name is
        what tells where the log goes on when all before it is deleted.
        """
        segment = cls(directory, base_offset, open_files, second_suffix=second_suffix)
        segment.created_ms = now_ms
        segment._largest = TimestampAndOffset(NO_TIMESTAMP, base_offset)
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
            # An empty file left behind would be taken for a segment at the next start.
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

    @property
    def indexes(self) -> tuple[OffsetIndex, TimeIndex, TransactionIndex]:
        return self.offset_index, self.time_index, self.transaction_index

    def __repr__(self) -> str:
        return f"LogSegment(base_offset={self.base_offset}, size={self.size})"

    # -- appending

    def append(
        self,
        buffers: tuple[bytes | memoryview, ...],
        size: int,
        base_offset: int,
        last_offset: int,
        max_timestamp: int,
        index_interval_bytes: int,
    ) -> None:
        """Write one batch at the end. When that fails the file is cut back, and nothing has
        changed.

        Raises:
            OSError: the disk is full, or worse.
        """
        position = self.size
        if not self._has_file:
            self.ensure_file()
        try:
            self.file.write(buffers, size, position)
        except OSError:
            self._cut_back(position)
            raise
        self.size = position + size
        self.note_batch(
            position, size, base_offset, last_offset, max_timestamp, index_interval_bytes
        )

    def _cut_back(self, position: int) -> None:
        # What was written of a failed batch must not be taken for one later. If even this fails,
        # the next append writes over it, and recovery would cut it.
        with suppress(OSError):
            self.file.truncate(position)

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
        largest = self._largest or self.largest
        if max_timestamp > largest[0]:
            self._largest = TimestampAndOffset(max_timestamp, last_offset)
        if self._bytes_since_index_entry > index_interval_bytes:
            self.offset_index.append(last_offset, position)
            self.time_index.maybe_append(*self.largest)
            self._bytes_since_index_entry = 0
            self._is_index_full = None
        self._bytes_since_index_entry += size
        self._recent.note(base_offset, last_offset + 1, position)

    @property
    def largest(self) -> TimestampAndOffset:
        """The largest timestamp, with the last offset of its batch; (-1, ...) if there is none."""
        if self._largest is None:
            self._largest = TimestampAndOffset(*self.time_index.last())
        return self._largest

    @property
    def first_timestamp(self) -> int:
        """The first batch's timestamp, -1 if it has none. Raises OSError."""
        if self._first_timestamp is None:
            first = next(self.batches(headers_only=True), None)
            self._first_timestamp = NO_TIMESTAMP if first is None else first[1].max_timestamp
        return self._first_timestamp

    def must_roll(
        self,
        size: int,
        last_offset: int,
        timestamp: int,
        now_ms: int,
        config: LogConfig,
        roll_jitter_ms: int,
    ) -> bool:
        """True if a batch needs a new segment: its size, last offset and largest timestamp are
        given.

        How long a segment has been filled goes by its records' timestamps, if they have any.
        Source: Kafka's LogSegment.shouldRoll. Raises OSError.
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
        is_full = self._is_index_full
        if is_full is None:
            is_full = self._is_index_full = self.is_index_full(config.segment_index_bytes)
        return is_full

    def modified_ms(self) -> int:
        """When the file was last written to; when the segment was made if it has none. Raises
        OSError."""
        return self._files.modified_ms(self.file.path) if self._has_file else self.created_ms

    def set_modified_ms(self, modified_ms: int) -> None:
        self._files.set_modified_ms(self.file.path, modified_ms)

    def largest_or_modified_ms(self) -> int:
        """The largest timestamp, or when the file was written if there is none. Raises OSError."""
        timestamp = self.largest.timestamp
        return timestamp if timestamp >= 0 else self.modified_ms()

    def takes_offset(self, offset: int) -> bool:
        """True if `offset` can be told in the indexes' four bytes."""
        return 0 <= offset - self.base_offset <= MAX_RELATIVE_OFFSET

    def is_index_full(self, max_index_bytes: int) -> bool:
        """True if an index has reached segment.index.bytes (the time index keeps a place for its
        end)."""
        offset_index, time_index = self.offset_index, self.time_index
        return (
            offset_index.count >= max_index_bytes // offset_index.layout.size
            or time_index.count >= max_index_bytes // time_index.layout.size - 1
        )

    # -- finding and reading

    def batches(
        self, position: int = 0, end: int | None = None, *, headers_only: bool = False
    ) -> Iterator[tuple[int, RecordBatch]]:
        """(position, batch) from `position` to `end`: see `read_batches`."""
        end = self.size if end is None else min(end, self.size)
        return read_batches(self.file, position, end, headers_only=headers_only)

    def find(self, offset: int) -> tuple[int, RecordBatch] | None:
        """(position, header) of the first batch that ends at or behind `offset`; None if there is
        none.

        Raises:
            KafkaError(CORRUPT_MESSAGE), OSError: the file cannot be read.
        """
        start = self._recent.position_before(offset)
        if start is None:
            _, start = self.offset_index.lookup(offset)
        for position, batch in self.batches(start, headers_only=True):
            if batch.last_offset >= offset:
                return position, batch
        return None

    def read(
        self, offset: int, max_bytes: int, *, end: int, minimum_one_batch: bool
    ) -> tuple[int, FileSlice | None] | None:
        """(position, slice) from the batch that holds `offset`, up to position `end`.

        The slice is cut at `max_bytes`, in mid-batch perhaps; `minimum_one_batch` gives the first
        batch whole. No slice when the first batch does not fit or `end` comes first; None when no
        batch ends at or behind `offset`.

        Raises:
            KafkaError(CORRUPT_MESSAGE), OSError: the file cannot be read.
        """
        first_size = -1
        i = self._recent.index_of(offset)
        if i >= 0:
            position = self._recent.positions[i]
        else:
            found = self.find(offset)
            if found is None:
                return None
            position, batch = found
            first_size = batch.size_bytes
        size = end - position
        if size > max_bytes:
            if i >= 0:
                first_size = self._recent.end_of(i, self.size) - position
            if minimum_one_batch:
                max_bytes = max(max_bytes, first_size)
            size = min(size, max_bytes) if first_size <= max_bytes else 0
        return position, FileSlice(self.file, position, size) if size > 0 else None

    def position_of(self, offset: int) -> int:
        """Where the first batch begins that ends at or behind `offset`: the end for reads below
        `offset`."""
        i = self._recent.index_of(offset)
        if i >= 0:
            return self._recent.positions[i]
        found = self.find(offset)
        return self.size if found is None else found[0]

    def find_timestamp(self, timestamp: int, from_offset: int) -> TimestampAndOffset | None:
        """The first record from `from_offset` on that is not earlier than `timestamp`.

        Raises:
            KafkaError, OSError: the file cannot be read.
        """
        _, offset = self.time_index.lookup(timestamp)
        _, position = self.offset_index.lookup(max(offset, from_offset))
        for _, batch in self.batches(position):
            if batch.max_timestamp < timestamp or batch.last_offset < from_offset:
                continue
            for record in iterate_records(batch):
                if record.timestamp >= timestamp and record.offset >= from_offset:
                    return TimestampAndOffset(record.timestamp, record.offset)
        return None

    def find_largest_timestamp(self) -> TimestampAndOffset | None:
        """The first record with the segment's largest timestamp."""
        timestamp = self.largest.timestamp
        return None if timestamp < 0 else self.find_timestamp(timestamp, self.base_offset)

    def reset(self) -> None:
        """Forget what the indexes say: recovery finds it anew."""
        for index in self.indexes:
            index.reset()
        self._first_timestamp = None
        self._largest = TimestampAndOffset(NO_TIMESTAMP, self.base_offset)
        self._is_index_full = None
        self._bytes_since_index_entry = 0
        self._recent.forget()

    def cut(self, position: int) -> None:
        """Remove all bytes behind `position`. Raises OSError."""
        if position < self.size:
            self.file.truncate(position)
            self.size = position

    def whole(self, position: int, batch: RecordBatch) -> RecordBatch:
        """`batch` with all its bytes, when it may have been read by `headers_only`."""
        if len(batch.buffer) == batch.size_bytes:
            return batch
        return RecordBatch(self.file.pread(batch.size_bytes, position))

    def next_offset(self) -> int:
        """The offset behind the last batch: read from the file. Raises KafkaError, OSError."""
        _, position = self.offset_index.last()
        next_offset = self.base_offset
        for _, batch in self.batches(position, headers_only=True):
            next_offset = batch.next_offset
        return next_offset

    # -- becoming inactive, truncating, leaving

    def finish_indexes(self) -> None:
        """Write the indexes, the time index ending with the segment's largest timestamp. Raises
        OSError."""
        if not self._has_file:
            return
        for index in (self.offset_index, self.time_index):
            index.load()
        if self.largest.timestamp >= 0:
            self.time_index.maybe_append(*self.largest)
        self.write_indexes()
        self.transaction_index.write()

    def write_indexes(self, *, sync: bool = False) -> None:
        """Bring the index files up to date. Raises OSError."""
        for index in (self.offset_index, self.time_index):
            index.write(sync=sync)

    def become_inactive(self) -> None:
        """The segment rolled: finish the indexes, and let memory go. Raises OSError."""
        self.finish_indexes()
        self.offset_index.unload()
        self.time_index.unload()
        self._recent.forget()

    def flush(self) -> None:
        """The batches onto the disk, then the indexes. Raises OSError."""
        if self._has_file:
            self.file.sync()
            self.write_indexes(sync=True)
            self.transaction_index.write(sync=True)

    def truncate_to(self, offset: int) -> int:
        """Remove all batches that end at or behind `offset`; where the segment ends then. Raises
        OSError."""
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
        self._largest = None
        if self.size:
            self._largest = self._scan_largest()
        return end

    def _scan_largest(self) -> TimestampAndOffset:
        largest = TimestampAndOffset(*self.time_index.last())
        _, position = self.offset_index.lookup(largest.offset)
        for _, batch in self.batches(position, headers_only=True):
            if batch.max_timestamp > largest.timestamp:
                largest = TimestampAndOffset(batch.max_timestamp, batch.last_offset)
        return largest

    def rename(self, directory: Path, second_suffix: str) -> None:
        """Give all files another second suffix (or directory). Raises OSError."""

        def path(suffix: str) -> Path:
            return segment_file(directory, self.base_offset, suffix, second_suffix)

        # The log first: recovery goes by it (README.md, crash states).
        if self._has_file:
            self.file.rename(path(LOG_SUFFIX))
        self.file.path = path(LOG_SUFFIX)
        self.offset_index.rename(path(OFFSET_INDEX_SUFFIX))
        self.time_index.rename(path(TIME_INDEX_SUFFIX))
        self.transaction_index.rename(path(TRANSACTION_INDEX_SUFFIX))

    def close(self) -> None:
        """Let go of the file; what is not written to the indexes is lost (recovery rebuilds it)."""
        self.file.close()

    def unlink(self) -> None:
        """Delete the files; slices being sent keep their bytes. Raises OSError."""
        self.close()
        for index in self.indexes:
            self._files.unlink(index.path)
        self._files.unlink(self.file.path)
