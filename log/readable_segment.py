"""A segment's batches, found and read: by offset, by timestamp, one after the other.

The indexes say where in the file to look; the places of the last batches are in memory. Nothing
here changes the file. Source: Kafka's LogSegment.read, translateOffset, findOffsetByTimestamp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from kafkalite.log.file_records import read_batches
from kafkalite.log.files import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_file_name,
)
from kafkalite.log.offset_index import OffsetIndex
from kafkalite.log.open_files import FileSlice, LogFile, OpenFiles
from kafkalite.log.page_cache import NotBrief, is_cached_only
from kafkalite.log.recent_batches import RecentBatches
from kafkalite.log.time_index import TimeIndex
from kafkalite.log.transaction_index import TransactionIndex
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import (
    COMPRESSION_MASK,
    HEADER_BYTES,
    NO_TIMESTAMP,
    RecordBatch,
    iterate_records,
)

# A search through more than this takes a thread. So many compressed bytes may be 11 MB of records.
_MOST_BRIEF_RECORDS: Final = 1000
_MOST_BRIEF_COMPRESSED_BYTES: Final = 1024
_MOST_BRIEF_BYTES: Final = 1 << 20
_MOST_SEARCHED: Final = 16
_END_OF_TIME: Final = 2**63 - 1
# A largest timestamp that the time index has not been asked for yet.
UNREAD: Final = -2


class TimestampAndOffset(NamedTuple):
    """A timestamp in milliseconds and the offset that has it."""

    timestamp: int
    offset: int


class FoundRecord(NamedTuple):
    """A record that is looked for by its timestamp."""

    timestamp: int
    offset: int
    leader_epoch: int


_SearchKey = tuple[int, int, int, int]
"""The base offset and checksum of a batch, a timestamp, and the first offset that counts."""


class ReadableSegment:
    """A segment's file and indexes. Positions are bytes in its `.log` file, `size` is that file's.

    Methods raise OSError when the file cannot be read, and KafkaError(CORRUPT_MESSAGE) when no
    batch begins where one must.
    """

    def __init__(
        self, directory: Path, base_offset: int, open_files: OpenFiles, *, second_suffix: str = ""
    ) -> None:
        def name(suffix: str) -> str:
            return segment_file_name(base_offset, suffix, second_suffix)

        files = open_files.files
        self.base_offset = base_offset
        self.size = 0
        self.file = LogFile(directory, name(LOG_SUFFIX), open_files)
        self.offset_index = OffsetIndex(directory, name(OFFSET_INDEX_SUFFIX), base_offset, files)
        self.time_index = TimeIndex(directory, name(TIME_INDEX_SUFFIX), base_offset, files)
        self.transaction_index = TransactionIndex(
            directory, name(TRANSACTION_INDEX_SUFFIX), base_offset, files
        )
        # The first batch's timestamp, by which the segment rolls; None: not read yet.
        self._first_timestamp: int | None = None
        # Two numbers, as most appends change them: a tuple takes longer to make than to index.
        self._largest_timestamp = UNREAD
        self._largest_offset = base_offset
        self._recent = RecentBatches()
        self._files = files
        # The results of the last searches in threads; a batch never changes.
        self._searched: dict[_SearchKey, FoundRecord | KafkaError | None] | None = None

    @property
    def indexes(self) -> tuple[OffsetIndex, TimeIndex, TransactionIndex]:
        return self.offset_index, self.time_index, self.transaction_index

    def __repr__(self) -> str:
        return f"LogSegment(base_offset={self.base_offset}, size={self.size})"

    @property
    def has_time(self) -> bool:
        """True if the largest timestamp is in memory."""
        return self._largest_timestamp != UNREAD

    @property
    def largest(self) -> TimestampAndOffset:
        """The largest timestamp, with the last offset of its batch; (-1, ...) if there is none."""
        if self._largest_timestamp == UNREAD:
            self.read_largest()
        return TimestampAndOffset(self._largest_timestamp, self._largest_offset)

    def read_largest(self) -> None:
        """Take the largest timestamp of the time index, which is the segment's if it is closed."""
        # A thread may read it: the offset is there before the timestamp, which others look at.
        timestamp, self._largest_offset = self.time_index.last()
        self._largest_timestamp = timestamp

    @property
    def is_only_an_end(self) -> bool:
        """True if nothing is there but the emptied batch that ends a segment (compaction.py)."""
        return self.size == HEADER_BYTES and self.largest.timestamp == NO_TIMESTAMP

    @property
    def first_timestamp(self) -> int:
        """The first batch's largest timestamp; -1 if it has none."""
        if self._first_timestamp is None:
            first = next(self.batches(headers_only=True), None)
            self._first_timestamp = NO_TIMESTAMP if first is None else first[1].max_timestamp
        return self._first_timestamp

    def batches(
        self,
        position: int = 0,
        end: int | None = None,
        *,
        headers_only: bool = False,
        must_be_whole: bool = False,
        most_bytes: int | None = None,
    ) -> Iterator[tuple[int, RecordBatch]]:
        """(position, batch) from `position` to `end`, by default the file's; see `read_batches`."""
        end = self.size if end is None else min(end, self.size)
        return read_batches(
            self.file,
            position,
            end,
            headers_only=headers_only,
            must_be_whole=must_be_whole,
            most_bytes=most_bytes,
        )

    def batches_near(
        self,
        offset: int,
        *,
        headers_only: bool = True,
        must_be_whole: bool = False,
        most_bytes: int | None = None,
    ) -> Iterator[tuple[int, RecordBatch]]:
        """`batches` from where the offset index says that `offset` is, or is not far.

        Indexes have no checksum. An entry where no batch up to `offset` begins is damaged: then it
        is the segment's start, from where a search takes longer, and loses no record.
        """
        batches = partial(
            self.batches,
            headers_only=headers_only,
            must_be_whole=must_be_whole,
            most_bytes=most_bytes,
        )
        _, position = self.offset_index.lookup(offset)
        if 0 < position < self.size:
            found = batches(position)
            try:
                first = next(found, None)
            except KafkaError:
                first = None
            if first is not None and first[1].base_offset <= offset:
                return chain((first,), found)
        return batches(0)

    def find(self, offset: int) -> tuple[int, RecordBatch] | None:
        """(position, header) of the first batch that ends at or after `offset`, or None."""
        start = self._recent.position_before(offset)
        batches = (
            self.batches_near(offset) if start is None else self.batches(start, headers_only=True)
        )
        for position, batch in batches:
            if batch.last_offset >= offset:
                return position, batch
        return None

    def read(
        self, offset: int, max_bytes: int, *, end: int, minimum_one_batch: bool
    ) -> tuple[int, FileSlice | None] | None:
        """(position, slice) from the batch that holds `offset`, up to position `end`.

        The slice is cut at `max_bytes`, perhaps in the middle of a batch. With `minimum_one_batch`
        the first batch comes whole. The slice is None if the first batch does not fit, or if `end`
        lies before it. Returns None if no batch ends at or after `offset`.
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
        """The start of the first batch that ends at or after `offset`, else the file's end."""
        i = self._recent.index_of(offset)
        if i >= 0:
            return self._recent.positions[i]
        found = self.find(offset)
        return self.size if found is None else found[0]

    def find_largest(self) -> FoundRecord | None:
        """The first record with the largest timestamp; None if the first batch that says to have it
        has no such record."""
        return self.find_timestamp(self.largest.timestamp, self.base_offset, in_first_batch=True)

    def find_timestamp(
        self, timestamp: int, from_offset: int, *, in_first_batch: bool = False
    ) -> FoundRecord | None:
        """The first record from `from_offset` on that is not earlier than `timestamp`, or None.
        `in_first_batch`: only the first batch counts that says to have one."""
        _, offset = self.time_index.lookup(timestamp)
        for position, batch in self.batches_near(max(offset, from_offset)):
            if batch.max_timestamp < timestamp or batch.last_offset < from_offset:
                continue
            found = self._search(position, batch, timestamp, from_offset)
            if found is not None or in_first_batch:
                return found
        return None

    def _search(
        self, position: int, batch: RecordBatch, timestamp: int, from_offset: int
    ) -> FoundRecord | None:
        """The first such record in the batch there. Raises NotBrief inside of `cached_only`."""
        key = batch.base_offset, batch.crc, timestamp, from_offset
        if self._searched is not None and key in self._searched:
            found = self._searched[key]
            if isinstance(found, KafkaError):
                raise found
            return found
        if is_cached_only() and _takes_long(batch):
            records = FileSlice(self.file, position, batch.size_bytes)
            raise NotBrief(partial(self._search_in_thread, key, records))
        return _first_record(self.whole(position, batch), timestamp, from_offset)

    def _search_in_thread(self, key: _SearchKey, records: FileSlice) -> None:
        """Not the thread closes `records`, but the loop, when it lets them go."""
        found: FoundRecord | KafkaError | None
        try:
            found = _first_record(RecordBatch(records.read()), key[2], key[3])
        except KafkaError as error:
            found = error
        if self._searched is None:
            self._searched = {}
        self._searched[key] = found
        while len(self._searched) > _MOST_SEARCHED:
            del self._searched[next(iter(self._searched))]

    def whole(self, position: int, batch: RecordBatch) -> RecordBatch:
        """`batch` with all its bytes; `headers_only` may have cut it short."""
        if len(batch.buffer) == batch.size_bytes:
            return batch
        return RecordBatch(self.file.pread(batch.size_bytes, position))

    def next_offset(self) -> int:
        """The offset after the last batch, read from the file; the base offset if it is empty.

        A torn last batch is an error: the file of a closed log has none.
        """
        next_offset = self.base_offset
        for _, batch in self.batches_near(self.offset_index.last()[0], must_be_whole=True):
            next_offset = batch.next_offset
        return next_offset

    def _scan_largest(self) -> TimestampAndOffset:
        largest = TimestampAndOffset(*self.time_index.last())
        for _, batch in self.batches_near(largest.offset):
            if batch.max_timestamp > largest.timestamp:
                largest = TimestampAndOffset(batch.max_timestamp, batch.last_offset)
        return largest


def _takes_long(batch: RecordBatch) -> bool:
    is_compressed = batch.attributes & COMPRESSION_MASK
    most_bytes = _MOST_BRIEF_COMPRESSED_BYTES if is_compressed else _MOST_BRIEF_BYTES
    return batch.record_count > _MOST_BRIEF_RECORDS or batch.size_bytes > most_bytes


def _first_record(batch: RecordBatch, timestamp: int, from_offset: int) -> FoundRecord | None:
    try:
        return _first_of(
            ((record.timestamp, record.offset) for record in iterate_records(batch)),
            timestamp,
            from_offset,
            batch.partition_leader_epoch,
        )
    except KafkaError:  # what is odd may lie behind the record
        from kafkalite.log.rewriting import read, timestamp_of  # with the first such batch

        return _first_of(
            (
                (timestamp_of(batch, record), batch.base_offset + record.offset_delta)
                for record in read(batch, skips_contents=False)
            ),
            timestamp,
            from_offset,
            batch.partition_leader_epoch,
        )


def _first_of(
    records: Iterable[tuple[int, int]], timestamp: int, from_offset: int, leader_epoch: int
) -> FoundRecord | None:
    """The first of these timestamps and offsets. Beyond the end of time Java's numbers wrap: such a
    timestamp is long ago."""
    for found, offset in records:
        if timestamp <= found <= _END_OF_TIME and offset >= from_offset:
            return FoundRecord(found, offset, leader_epoch)
    return None
