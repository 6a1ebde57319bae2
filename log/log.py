"""A partition's log: append-only, in segments, in Kafka's format on disk.

`Log` is what a partition has: it gives batches their offsets, remembers producers, rolls segments, and
hands out slices of files. All of it is plain functions, so that under trio nothing comes between them.

    log start offset <= last stable offset <= high watermark <= log end offset
                                              recovery point <= log end offset

What is below the recovery point is on the disk; what is below the high watermark may be read; what is
below the last stable offset is decided. Source: Kafka's UnifiedLog and LocalLog.
"""

from __future__ import annotations

import errno
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from struct import Struct
from typing import Final

from kafkalite.log import flushing, reading, retention, rolling
from kafkalite.log.acceptance import AcceptedBatch, accept, as_accepted
from kafkalite.log.append_info import AppendInfo, as_duplicate
from kafkalite.log.config import LogConfig
from kafkalite.log.files import deleted_directory, parse_partition_directory, without_future
from kafkalite.log.flushing import Flush
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.producer_state import AppendOrigin, CompletedTransaction
from kafkalite.log.reading import ReadResult
from kafkalite.log.recovery import LoadedLog, replay_producers
from kafkalite.log.said_once import SaidOnce
from kafkalite.log.segment import LogSegment, TimestampAndOffset
from kafkalite.log.transaction_index import AbortedTransaction
from kafkalite.log.trusted_records import Pair, trusted_batch
from kafkalite.log.validation import validate
from kafkalite.log.verification import VerificationGuard
from kafkalite.wire.control_records import read_end_transaction_marker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import (
    LOG_OVERHEAD,
    NO_PRODUCER_ID,
    RecordBatch,
    iterate_batches,
)

__all__ = ["AppendInfo", "AppendOrigin", "Log", "ReadResult"]

_logger = logging.getLogger(__name__)


# A full disk or too many open files pass; anything else is a broken disk, and its logs go offline.
PASSING_ERRORS: Final = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR)
)

# What a leader writes before the magic: offset, length, leader epoch.
_pack_head = Struct(">qii").pack


class Log:
    """One partition's log. Made by `open_log`.

    Methods raise KafkaError(KAFKA_STORAGE_ERROR) when the disk fails, besides what they say themselves.
    """

    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        loaded: LoadedLog,
        open_files: OpenFiles,
        *,
        now_ms: Callable[[], int],
        on_failure: Callable[[OSError], None] | None,
        trouble: SaidOnce | None = None,
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
        # Whether it is worth a try to open it again.
        self.may_come_back = False
        self._first_unstable_offset: int | None = None
        self.update_first_unstable()
        self._on_failure = on_failure
        self._trouble = trouble or SaidOnce(str(directory), _logger, logging.WARNING)
        self.now_ms = now_ms
        self.last_flush_ms = now_ms()
        # Segments that are out of the log and not yet off the disk: (when to unlink, segment).
        self.deleted_segments: list[tuple[int, LogSegment]] = []
        # Called when the recovery point has moved: with kafkalite.visible.after.flush, more may be read.
        self.on_flushed: Callable[[], None] | None = None
        # Who cleans the log now; set to None, they stop.
        self.cleaning: object | None = None
        self.roll_jitter_ms = rolling.random_jitter_ms(config)

    def __repr__(self) -> str:
        return f"Log({self.name}, offsets=[{self.log_start_offset}, {self.log_end_offset}))"

    # -- offsets

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

    # -- reading (see reading.py)

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

        Raises:
            KafkaError: OFFSET_OUT_OF_RANGE, KAFKA_STORAGE_ERROR.
        """
        return reading.read(
            self,
            offset,
            max_bytes,
            upper_bound=upper_bound,
            minimum_one_batch=minimum_one_batch,
            with_aborted_transactions=with_aborted_transactions,
        )

    def aborted_transactions(self, offset: int, upper_bound: int) -> list[AbortedTransaction]:
        """The aborted transactions with records in [offset, upper_bound), by first offset."""
        return reading.aborted_transactions(self, offset, upper_bound)

    def offset_for_timestamp(self, timestamp: int) -> TimestampAndOffset | None:
        """The first record that is not earlier than `timestamp`; None if all are, or there is none."""
        return reading.offset_for_timestamp(self, timestamp)

    def max_timestamp_offset(self) -> TimestampAndOffset | None:
        """The first record with the largest timestamp of the log; None if no record has one."""
        return reading.max_timestamp_offset(self)

    # -- appending

    def append(
        self,
        records: bytes | bytearray | memoryview,
        *,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        verification_guard: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendInfo:
        """Append one batch as the leader; `records` is not kept and not changed.

        Raises:
            KafkaError: INVALID_RECORD, CORRUPT_MESSAGE, INVALID_TIMESTAMP (InvalidRecordsError where
                single records are at fault), MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE,
                OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE,
                TRANSACTION_COORDINATOR_FENCED, KAFKA_STORAGE_ERROR. Nothing was appended then.
        """
        if self.offline_reason is not None:
            self.check_online()
        config = self.config
        now_ms = self.now_ms()
        batch = accept(records, config, now_ms) if origin is AppendOrigin.CLIENT else None
        if batch is None:
            batch = validate(records, config, name=self.name, origin=origin, now_ms=now_ms)
        base_offset = self.log_end_offset
        if batch.producer_id == NO_PRODUCER_ID:
            self._commit(batch, base_offset, leader_epoch, now_ms)
        elif batch.is_control:
            marker = read_end_transaction_marker(RecordBatch(records))
            if marker is not None:
                self.producer_state.check_marker(batch, marker, base_offset, transaction_version)
            self._commit(batch, base_offset, leader_epoch, now_ms)
            if marker is not None:
                self._complete(self.producer_state.update_marker(batch, marker, base_offset))
        else:
            duplicate = self.producer_state.check(
                batch,
                base_offset,
                origin,
                verification_guard,
                must_be_verified=config.verify_transactions,
            )
            if duplicate is not None:
                return as_duplicate(duplicate, self.log_start_offset)
            self._commit(batch, base_offset, leader_epoch, now_ms)
            self.producer_state.update_data(batch, base_offset)
            if batch.is_transactional:
                self.update_first_unstable()
        end_offset = self.log_end_offset
        if end_offset - self.recovery_point >= config.flush_messages:
            self.flush()
        return AppendInfo(
            base_offset,
            end_offset - 1,
            batch.log_append_time_ms,
            self.log_start_offset,
            batch.max_timestamp,
            batch.record_count,
            batch.size_bytes,
        )

    def append_trusted(self, pairs: Sequence[Pair], timestamp: int, leader_epoch: int) -> int:
        """Append keys and values, at least one pair, as one batch of this `timestamp`; its base offset.

        They never left this process, so they need no validation. A log that stamps or compresses its
        batches validates them as any others. Raises KafkaError: MESSAGE_TOO_LARGE,
        RECORD_LIST_TOO_LARGE, KAFKA_STORAGE_ERROR.
        """
        config = self.config
        batch = trusted_batch(pairs, timestamp)
        if not config.keeps_batches or batch.size_bytes > config.max_batch_bytes:
            head = _pack_head(0, batch.size_bytes - LOG_OVERHEAD, leader_epoch)
            return self.append(
                b"".join((head, *batch.buffers)),
                leader_epoch=leader_epoch,
                origin=AppendOrigin.COORDINATOR,
            ).base_offset
        self.check_online()
        base_offset = self.log_end_offset
        self._commit(batch, base_offset, leader_epoch, self.now_ms())
        if self.log_end_offset - self.recovery_point >= config.flush_messages:
            self.flush()
        return base_offset

    def _complete(self, transaction: CompletedTransaction | None) -> None:
        """Note the transaction that a marker ended, if it ended one."""
        if transaction is not None:
            if transaction.is_aborted:
                self.segments.active.transaction_index.note(
                    AbortedTransaction(
                        transaction.producer_id,
                        transaction.first_offset,
                        transaction.last_offset,
                        self.producer_state.last_stable_offset(transaction),
                    )
                )
            self.producer_state.complete(transaction)
        self.update_first_unstable()

    def start_verification(
        self, producer_id: int, sequence: int, epoch: int, *, supports_epoch_bump: bool
    ) -> VerificationGuard | None:
        """A guard to get verified and then append with; None when the transaction is open already."""
        state = self.producer_state
        if state.has_ongoing_transaction(producer_id, epoch):
            return None
        return state.verifications.start(
            producer_id,
            sequence,
            epoch,
            supports_epoch_bump=supports_epoch_bump,
            now_ms=self.now_ms(),
        )

    def append_as_follower(self, records: bytes | bytearray | memoryview) -> int:
        """Append batches that have their offsets and epochs already, as they are; the log end offset.

        Raises:
            KafkaError: CORRUPT_MESSAGE, OFFSET_OUT_OF_RANGE (below the log's end), KAFKA_STORAGE_ERROR.
        """
        self.check_online()
        now_ms = self.now_ms()
        for batch in iterate_batches(records):
            batch.ensure_valid()
            if batch.base_offset < self.log_end_offset:
                raise KafkaError(
                    ErrorCode.OFFSET_OUT_OF_RANGE,
                    f"Unexpected offset in append to {self.name}: {batch.base_offset} is less than the "
                    f"next offset {self.log_end_offset}",
                )
            self._commit(
                as_accepted(batch), batch.base_offset, batch.partition_leader_epoch, now_ms
            )
            self._complete(self.producer_state.replay(batch))
        return self.log_end_offset

    def _commit(
        self, batch: AcceptedBatch, base_offset: int, leader_epoch: int, now_ms: int
    ) -> None:
        """Write one batch, index it, and move the log end offset behind it.

        The active segment is rolled first if it is full. Raises KafkaError(KAFKA_STORAGE_ERROR): the
        log is as it was.
        """
        size = batch.size_bytes
        last_offset = base_offset + batch.last_offset_delta
        try:
            if leader_epoch != self.leader_epochs.latest and leader_epoch >= 0:
                self.leader_epochs.assign(leader_epoch, base_offset)
            segment = self.segments.active
            config = self.config
            timestamp = batch.max_timestamp
            if segment.must_roll(size, last_offset, timestamp, now_ms, config, self.roll_jitter_ms):
                segment = self.roll()
            segment.append(
                (_pack_head(base_offset, size - LOG_OVERHEAD, leader_epoch), *batch.buffers),
                size,
                base_offset,
                last_offset,
                timestamp,
                config.index_interval_bytes,
            )
        except OSError as error:
            raise self.storage_error(error) from error
        self.log_end_offset = self.producer_state.end_offset = last_offset + 1

    def roll(self) -> LogSegment:
        """Begin a new segment at the log's end; the old one is finished, and flushed by a later `flush`.

        Raises OSError: the active segment is as it was.
        """
        return rolling.roll(self)

    # -- what shortens the log

    def delete_records_before(self, offset: int) -> int:
        """Move the log start offset up to `offset` (DeleteRecords); the log start offset after it.

        Segments that lie before it go with the next `retain`. Raises KafkaError(OFFSET_OUT_OF_RANGE).
        """
        self.check_online()
        if offset > self.high_watermark:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Cannot increment the log start offset to {offset} of partition {self.name} since it "
                f"is larger than the high watermark {self.high_watermark}",
            )
        if offset > self.log_start_offset:
            self.log_start_offset = offset
            self.leader_epochs.truncate_from_start(offset)
            self.producer_state.log_start_moved(offset)
            self.update_first_unstable()
        return self.log_start_offset

    def retain(self) -> int:
        """Delete what retention does not ask to keep; the number of segments (see retention.py)."""
        self.check_online()
        try:
            return retention.retain(self, self.now_ms())
        except OSError as error:
            raise self.storage_error(error) from error

    def unlink_deleted(self) -> None:
        """Remove the deleted segments whose file.delete.delay.ms has passed. Raises OSError."""
        if self.deleted_segments:
            retention.unlink_deleted(self, self.now_ms())

    def truncate_to(self, offset: int) -> None:
        """Remove every batch that ends at or behind `offset` (a follower's; KIP-101)."""
        self.check_online()
        try:
            retention.truncate(self, offset)
        except OSError as error:
            raise self.storage_error(error) from error

    def start_over_at(self, offset: int) -> None:
        """Drop everything; the log is empty and begins at `offset` (a follower's)."""
        self.check_online()
        try:
            retention.truncate_fully(self, offset, self.now_ms())
        except OSError as error:
            raise self.storage_error(error) from error
        self.high_watermark = offset

    def ended_at(self, offset: int) -> None:
        """The log was cut to end at `offset`: all that is known of it follows. Raises OSError."""
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.recovery_point = min(self.recovery_point, offset)
        self.leader_epochs.truncate_from_end(offset)
        self.leader_epochs.write()
        self.producer_state.clear()
        self.snapshots.remove_behind(offset)
        self.snapshots.load_latest(self.producer_state, self.segments.first.base_offset)
        replay_producers(self.segments, self.producer_state, offset)
        self.producer_state.end_offset = offset
        self.high_watermark = min(self.high_watermark, offset)
        self.update_first_unstable()

    # -- flushing, closing, deleting

    def flush(self) -> None:
        """Everything onto the disk; the recovery point is the log's end then. Blocks for an fsync or more.

        Raises KafkaError(KAFKA_STORAGE_ERROR): the recovery point is as it was.
        """
        flushing.flush(self)

    def begin_flush(self, up_to: int | None = None) -> Flush | None:
        """The same in three steps, of which `run` may be done in a thread; None if all is flushed.

        With `up_to`, a segment's base offset, what is before it is flushed.
        """
        return flushing.begin_flush(self, up_to)

    def close(self, *, sync: bool = True) -> None:
        """Flush, write what opening fast needs (indexes, a snapshot of the producers), let go of files.

        Without `sync` the caller sees to it that all is on the disk, and says so with `synced`. Raises
        KafkaError(KAFKA_STORAGE_ERROR): then the shutdown is not a clean one.
        """
        flushing.close(self, sync=sync)

    def settle(self) -> None:
        """Write what opening fast needs, as `close` does, and go on. Raises KafkaError."""
        if self.offline_reason is None:
            try:
                self.segments.active.finish_indexes()
                self.producer_state.end_offset = self.log_end_offset
                self.snapshots.take(self.producer_state)
                self.leader_epochs.write()
            except OSError as error:
                raise self.storage_error(error) from error

    def synced(self) -> None:
        """Everything that was written is on the disk now."""
        self.recovery_point = self.log_end_offset

    def delete(self) -> Path:
        """Take the log out of the way: its directory is renamed `...-delete`, to be removed later.

        Slices being sent keep their bytes. Returns the new directory (`remove_directory` removes it).
        """
        self.close_files()
        target = self.directory.with_name(deleted_directory(self.name))
        try:
            self.files.rename(self.directory, target)
        except OSError as error:
            raise self.storage_error(error) from error
        self.offline_reason = "deleted"
        self.directory = target
        return target

    # -- the disk

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
        if error.errno not in PASSING_ERRORS:
            self.offline_reason = str(error)
            _logger.error("%s: offline: %s", self.directory, error)
            if self._on_failure is not None:
                self._on_failure(error)
        else:
            self._trouble.failed(error)
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.name}: {error.strerror or error}")
