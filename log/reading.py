"""Reading a log: by offset, by timestamp, with the transactions that were aborted.

Nothing here changes the log. Source: Kafka's UnifiedLog, LocalLog.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Final

from kafkalite.log.log_state import LogState
from kafkalite.log.open_files import FileSlice
from kafkalite.log.page_cache import NotBrief, is_cached_only
from kafkalite.log.readable_segment import FoundRecord
from kafkalite.log.segment import LogSegment
from kafkalite.log.transaction_index import AbortedTransaction, Entry
from kafkalite.wire.errors import ErrorCode, KafkaError

# A thread reads the times of more segments.
_MOST_BRIEF_SEGMENTS: Final = 100

Aborted = tuple[int, int]
"""An aborted transaction as a Fetch tells it: the producer's id and the first offset."""


class ReadResult:
    """A slice of the log from the batch that holds `offset` on; `records` may be empty.

    The reader closes `records` when they are sent. `aborted_transactions` is None unless asked for,
    and where the first batch is larger than the bytes that were asked for.
    """

    __slots__ = ("aborted_transactions", "offset", "position", "records", "segment_base_offset")

    def __init__(
        self,
        offset: int,
        records: FileSlice | bytes,
        segment_base_offset: int = -1,
        position: int = -1,
        aborted_transactions: list[Aborted] | None = None,
    ) -> None:
        self.offset = offset
        self.records = records
        self.segment_base_offset = segment_base_offset
        self.position = position
        self.aborted_transactions = aborted_transactions


class LogReader(LogState):
    """Reads. Every method may raise KafkaError(KAFKA_STORAGE_ERROR)."""

    def read(
        self,
        offset: int,
        max_bytes: int,
        *,
        upper_bound: int,
        minimum_one_batch: bool = True,
        with_aborted_transactions: bool = False,
    ) -> ReadResult:
        """The batches from the one that holds `offset` on, below `upper_bound`, in one segment.

        Args:
            offset: between log start offset and log end offset.
            max_bytes: the slice ends there, perhaps in the middle of a batch.
            upper_bound: the high watermark, or the last stable offset; a batch begins there.
            minimum_one_batch: the first batch comes whole even if it is larger than `max_bytes`.
                Otherwise such a batch leaves the slice empty.

        Raises KafkaError(OFFSET_OUT_OF_RANGE).
        """
        self.check_online()
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Received request for offset {offset} for partition {self.name}, but we only have "
                f"log segments in the range {self.log_start_offset} to {self.log_end_offset}.",
            )
        aborted: list[Aborted] | None = [] if with_aborted_transactions else None
        # Most partitions of most Fetches have nothing new.
        segment = self.segments.floor(offset) if offset < upper_bound else None
        try:
            while segment is not None:
                following = self.segments.after(segment)
                end = segment.size
                if upper_bound < self.log_end_offset and (
                    following is None or upper_bound < following.base_offset
                ):
                    end = segment.position_of(upper_bound)
                found = segment.read(
                    offset, max_bytes, end=end, minimum_one_batch=minimum_one_batch
                )
                if found is not None:
                    position, records = found
                    size = 0 if records is None else records.size
                    # Nothing is told of a batch that does not fit; everything, if there is no room.
                    fits = size > 0 or max_bytes == 0 or end <= position
                    aborted = None
                    if with_aborted_transactions and fits:
                        aborted = self._aborted(segment, following, offset, position + size)
                    return ReadResult(
                        offset, records or b"", segment.base_offset, position, aborted
                    )
                segment = following
        except OSError as error:
            raise self.storage_error(error) from error
        return ReadResult(offset, b"", aborted_transactions=aborted)

    def _aborted(
        self,
        segment: LogSegment,
        following: LogSegment | None,
        offset: int,
        end_position: int,
    ) -> list[Aborted]:
        """Up to the next entry of the offset index, even behind the last stable offset (Kafka)."""
        end = segment.offset_index.offset_behind(end_position)
        if end is None:
            end = self.log_end_offset if following is None else following.base_offset
        entries = self._aborted_entries(offset, end)
        return [(producer_id, first_offset) for _, producer_id, first_offset, _, _ in entries]

    def aborted_transactions(self, offset: int, upper_bound: int) -> list[AbortedTransaction]:
        """The aborted transactions with records in [offset, upper_bound), as they ended."""
        return [
            AbortedTransaction(*entry[1:]) for entry in self._aborted_entries(offset, upper_bound)
        ]

    def _aborted_entries(self, offset: int, upper_bound: int) -> list[Entry]:
        """The same as they are in the indexes."""
        found: list[Entry] = []
        for segment in self.segments.aborting_since(offset):
            # Found in the segment of its marker, which may be any later one.
            some, is_complete = segment.transaction_index.overlapping(offset, upper_bound)
            found += some
            if is_complete:
                break
        return found

    def offset_for_timestamp(self, timestamp: int) -> FoundRecord | None:
        """The first record that is not earlier than `timestamp`, if there is one.

        Kafka looks into one segment only, the first with such a record, even if that one was
        deleted with DeleteRecords: then there is none, whatever is behind it. A segment without a
        time goes by its file's: its time index may be lost, or Kafka's cleaner has emptied it. One
        that our cleaner has emptied is passed over.
        Raises KafkaError(CORRUPT_MESSAGE).
        """
        self.check_online()
        try:
            segments = list(self.segments)
            _have_times(segments)
            for segment in segments:
                if segment.largest_or_modified_ms() >= timestamp and not segment.is_only_an_end:
                    return segment.find_timestamp(timestamp, self.log_start_offset)
        except OSError as error:
            raise self.storage_error(error) from error
        return None

    def max_timestamp_offset(self) -> FoundRecord | None:
        """The first record with the largest timestamp of the log, which is -1 if none has a time.

        None if there is no record. It may lie before the log start, while its segment is there
        (Kafka's UnifiedLog does not look). Raises KafkaError(CORRUPT_MESSAGE).
        """
        self.check_online()
        try:
            segments = [segment for segment in self.segments if segment.size]
            if not segments:
                return None
            _have_times(segments)
            latest = max(segments, key=lambda segment: segment.largest.timestamp)
            return latest.find_largest()
        except OSError as error:
            raise self.storage_error(error) from error


def _have_times(segments: list[LogSegment]) -> None:
    """Raise NotBrief inside of `cached_only` if the largest timestamps of many are to be read."""
    if is_cached_only():
        # The active one may be appended to while the thread reads.
        unread = [each for each in segments[:-1] if each.size and not each.has_time]
        if len(unread) > _MOST_BRIEF_SEGMENTS:
            raise NotBrief(partial(_read_times, unread))


def _read_times(segments: list[LogSegment]) -> None:
    """Have their largest timestamps in memory from now on; in a thread."""
    with suppress(OSError):  # the next look-up raises it, too
        for segment in segments:
            _ = segment.largest
