"""Reading a log: by offset, by timestamp, with the transactions that were aborted.

`LogReader` is the half of `Log` that changes nothing on the disk. Source: Kafka's UnifiedLog, LocalLog.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kafkalite.log.config import LogConfig
from kafkalite.log.files import parse_partition_directory, without_future
from kafkalite.log.open_files import FileSlice, OpenFiles
from kafkalite.log.recovery import LoadedLog
from kafkalite.log.segment import LogSegment, TimestampAndOffset
from kafkalite.log.transaction_index import AbortedTransaction
from kafkalite.wire.errors import ErrorCode, KafkaError

_logger = logging.getLogger(__name__)

# A full disk or too many open files pass; anything else is a broken disk, and its logs go offline.
_PASSING_ERRORS = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR)
)


class ReadResult(NamedTuple):
    """A slice of the log from the batch that holds `offset` on; `records` may be empty.

    The reader closes `records` when they are sent. `aborted_transactions` is None unless asked for.
    """

    offset: int
    records: FileSlice | bytes
    segment_base_offset: int = -1
    position: int = -1
    aborted_transactions: list[AbortedTransaction] | None = None


class LogReader:
    """A log's offsets, and what may be read between them.

    Methods raise KafkaError(KAFKA_STORAGE_ERROR) when the disk does not do what it is told, besides what
    they say themselves.
    """

    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        loaded: LoadedLog,
        open_files: OpenFiles,
        *,
        on_failure: Callable[[OSError], None] | None,
    ) -> None:
        self.directory = directory
        self.name = without_future(directory.name)
        self.topic, self.partition = parse_partition_directory(self.name) or (self.name, 0)
        self.config = config
        self.open_files = open_files
        self.files = open_files.files
        self.segments = loaded.segments
        self.leader_epochs = loaded.leader_epochs
        self.producer_state = loaded.producer_state
        self.snapshots = loaded.snapshots
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.recovery_point = loaded.recovery_point
        # Moved by `advance_high_watermark`; what is below may be read.
        self.high_watermark = loaded.log_start_offset
        # Why the log takes and gives nothing any more; None while all is well.
        self.offline_reason: str | None = None
        self._first_unstable_offset: int | None = None
        self.update_first_unstable()
        self._on_failure = on_failure

    @property
    def size_bytes(self) -> int:
        """Of all segments' batches."""
        return sum(segment.size for segment in self.segments)

    @property
    def last_stable_offset(self) -> int:
        """Below it every transaction is decided: what READ_COMMITTED may see."""
        if self._first_unstable_offset is None:
            return self.high_watermark
        return min(self._first_unstable_offset, self.high_watermark)

    @property
    def visible_end_offset(self) -> int:
        """How far a replica's log counts for the high watermark: its end, or what it has flushed."""
        return self.recovery_point if self.config.visible_after_flush else self.log_end_offset

    def advance_high_watermark(self, offset: int) -> None:
        """Move the high watermark; kept between the log's start and end, and never moved back."""
        offset = min(offset, self.log_end_offset)
        if offset > self.high_watermark:
            self.high_watermark = offset
            if self.producer_state.has_unstable:
                self.producer_state.high_watermark_moved(offset)
                self.update_first_unstable()
            else:
                self._first_unstable_offset = None

    def update_first_unstable(self) -> None:
        """Look again where the first transaction begins that is undecided or not yet replicated."""
        offset = self.producer_state.first_unstable_offset
        if offset is not None and offset < self.log_start_offset:
            offset = self.log_start_offset
        self._first_unstable_offset = offset

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch up to `epoch`; (-1, -1) if unknown (KIP-320)."""
        return self.leader_epochs.end_offset(epoch, self.log_end_offset)

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
            max_bytes: the slice may end in mid-batch there.
            upper_bound: the high watermark, or the last stable offset; an offset where a batch begins.
            minimum_one_batch: the first batch comes whole even if it is larger than `max_bytes`; without
                it, nothing comes then.

        Raises:
            KafkaError: OFFSET_OUT_OF_RANGE, KAFKA_STORAGE_ERROR.
        """
        self.check_online()
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Received request for offset {offset} for partition {self.name}, but we only have log "
                f"segments in the range {self.log_start_offset} to {self.log_end_offset}.",
            )
        aborted: list[AbortedTransaction] | None = [] if with_aborted_transactions else None
        segment = self.segments.floor(offset)
        try:
            while segment is not None and offset < upper_bound:
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
                    if records is None:
                        return ReadResult(offset, b"", segment.base_offset, position, aborted)
                    if with_aborted_transactions:
                        aborted = self._aborted(
                            segment, following, offset, position + records.size, upper_bound
                        )
                    return ReadResult(offset, records, segment.base_offset, position, aborted)
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
        upper_bound: int,
    ) -> list[AbortedTransaction]:
        end = segment.offset_index.offset_behind(end_position)
        if end is None:
            end = self.log_end_offset if following is None else following.base_offset
        return self.aborted_transactions(offset, min(end, upper_bound))

    def aborted_transactions(self, offset: int, upper_bound: int) -> list[AbortedTransaction]:
        """The aborted transactions with records in [offset, upper_bound), by first offset."""
        found: list[AbortedTransaction] = []
        for segment in self.segments.since(offset):
            # Found in the segment of its marker, which may be any later one.
            some, is_complete = segment.transaction_index.overlapping(offset, upper_bound)
            found += some
            if is_complete:
                break
        return sorted(found, key=lambda aborted: aborted.first_offset)

    def offset_for_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        """The first record that is not earlier than `timestamp`; None if all are, or there is none.

        Raises:
            KafkaError: KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE.
        """
        self.check_online()
        try:
            for segment in self.segments:
                if segment.size and segment.largest.timestamp >= timestamp:
                    found = segment.find_timestamp(timestamp, self.log_start_offset)
                    if found is not None:
                        return found
        except OSError as error:
            raise self.storage_error(error) from error
        return None

    def max_timestamp_offset(self) -> TimestampAndOffset | None:
        """The first record with the largest timestamp of the log; None if no record has one.

        Raises:
            KafkaError: KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE.
        """
        self.check_online()
        try:
            segments = [segment for segment in self.segments if segment.size]
            if not segments:
                return None
            latest = max(segments, key=lambda segment: segment.largest.timestamp)
            timestamp = latest.largest.timestamp
            return (
                latest.find_timestamp(timestamp, self.log_start_offset) if timestamp >= 0 else None
            )
        except OSError as error:
            raise self.storage_error(error) from error

    def close_files(self) -> None:
        """Let go of the files, writing nothing."""
        for segment in self.segments:
            segment.close()

    def check_online(self) -> None:
        """Raises KafkaError(KAFKA_STORAGE_ERROR) once the log is offline."""
        if self.offline_reason is not None:
            raise KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR,
                f"The log of partition {self.name} is offline: {self.offline_reason}",
            )

    def storage_error(self, error: OSError) -> KafkaError:
        """What a client is told of `error`; the log goes offline unless the trouble may pass."""
        if error.errno not in _PASSING_ERRORS:
            self.offline_reason = str(error)
            _logger.error("%s: offline: %s", self.directory, error)
            if self._on_failure is not None:
                self._on_failure(error)
        else:
            _logger.warning("%s: %s", self.directory, error)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.name}: {error.strerror or error}")
