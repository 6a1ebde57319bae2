"""A partition's log: append-only, in segments, in Kafka's format on disk.

`Log` is what a partition has: it gives batches their offsets, remembers producers, rolls segments, and
hands out slices of files. All of it is plain functions, so that under trio nothing comes between them.

    log start offset <= last stable offset <= high watermark <= log end offset
                                              recovery point <= log end offset

What is below the recovery point is on the disk; what is below the high watermark may be read; what is
below the last stable offset is decided. Source: Kafka's UnifiedLog and LocalLog.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from kafkalite.log import retention
from kafkalite.log.config import LogConfig
from kafkalite.log.files import deleted_directory
from kafkalite.log.flushing import Flush
from kafkalite.log.open_files import OpenFiles
from kafkalite.log.producer_state import (
    AppendOrigin,
    CompletedTransaction,
    VerificationGuard,
)
from kafkalite.log.reading import LogReader, ReadResult
from kafkalite.log.recovery import LoadedLog, LogLoader
from kafkalite.log.segment import LogSegment
from kafkalite.log.transaction_index import AbortedTransaction
from kafkalite.log.validation import Validated, validate
from kafkalite.wire.control_records import EndTransactionMarker, read_end_transaction_marker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import NO_TIMESTAMP, RecordBatch, iterate_batches

__all__ = ["AppendInfo", "AppendOrigin", "Log", "ReadResult"]

PRODUCER_ID_EXPIRATION_MS = 86_400_000


class AppendInfo(NamedTuple):
    """What became of an append; offsets of the first time when it was a retry (`is_duplicate`)."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    max_timestamp: int = NO_TIMESTAMP
    record_count: int = 0
    size_bytes: int = 0
    is_duplicate: bool = False


class Log(LogReader):
    """One partition's log. Made by `Log.open`; read as `LogReader` says."""

    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        loaded: LoadedLog,
        open_files: OpenFiles,
        *,
        now_ms: Callable[[], int],
        on_failure: Callable[[OSError], None] | None,
    ) -> None:
        super().__init__(directory, config, loaded, open_files, on_failure=on_failure)
        self.now_ms = now_ms
        self.last_flush_ms = now_ms()
        # Segments that are out of the log and not yet off the disk: (when to unlink, segment).
        self.deleted_segments: list[tuple[int, LogSegment]] = []
        # Called when the recovery point has moved: with kafkalite.visible.after.flush, more may be read.
        self.on_flushed: Callable[[], None] | None = None
        # Who cleans the log now; set to None, they stop.
        self.cleaning: object | None = None
        self._roll_jitter_ms = self._random_jitter()

    @classmethod
    def open(
        cls,
        directory: Path,
        config: LogConfig,
        *,
        now_ms: Callable[[], int],
        open_files: OpenFiles | None = None,
        log_start_offset: int = 0,
        recovery_point: int = 0,
        clean_shutdown: bool = False,
        on_failure: Callable[[OSError], None] | None = None,
    ) -> Log:
        """Open a log, new or old, and recover it if need be.

        Args:
            directory: `topic-partition`; made if it is not there.
            now_ms: the clock, milliseconds since 1970.
            open_files: shared by all logs of a broker, for the limit on descriptors.
            log_start_offset, recovery_point: as checkpointed; 0 if never.
            clean_shutdown: whether the last broker closed the log: if so nothing is scanned.
            on_failure: told of a broken disk, once.

        Raises:
            OSError: the directory cannot be read or written.
            KafkaError(CORRUPT_MESSAGE): a part of the log that must be whole is not.
        """
        open_files = OpenFiles() if open_files is None else open_files
        open_files.files.make_directory(directory)
        loaded = LogLoader(
            directory,
            open_files,
            now_ms=now_ms(),
            index_interval_bytes=config.index_interval_bytes,
            log_start_offset=log_start_offset,
            recovery_point=recovery_point,
            clean_shutdown=clean_shutdown,
        ).load()
        return cls(
            directory,
            config,
            loaded,
            open_files,
            now_ms=now_ms,
            on_failure=on_failure,
        )

    def __repr__(self) -> str:
        return f"Log({self.name}, offsets=[{self.log_start_offset}, {self.log_end_offset}))"

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
        self.check_online()
        now_ms = self.now_ms()
        validated = validate(
            records,
            self.config,
            name=self.name,
            origin=origin,
            base_offset=self.log_end_offset,
            leader_epoch=leader_epoch,
            now_ms=now_ms,
        )
        if validated.size > self.config.segment_bytes:
            raise KafkaError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"Message batch size is {validated.size} bytes in append to partition {self.name}, "
                f"which exceeds the maximum configured segment size of {self.config.segment_bytes}.",
            )
        batch = validated.batch
        base_offset = self.log_end_offset
        marker = None
        if batch.has_producer_id:
            if origin is AppendOrigin.CLIENT:
                duplicate = self.producer_state.find_duplicate(batch)
                if duplicate is not None:
                    return AppendInfo(
                        duplicate.first_offset,
                        duplicate.last_offset,
                        duplicate.timestamp,
                        self.log_start_offset,
                        is_duplicate=True,
                    )
            marker = self._check_producer(batch, origin, verification_guard, transaction_version)
        self._write(validated, base_offset, leader_epoch, now_ms)
        if batch.has_producer_id:
            self._update_producer(batch, marker, base_offset, validated.max_timestamp)
        self.producer_state.end_offset = self.log_end_offset
        if self.log_end_offset - self.recovery_point >= self.config.flush_messages:
            self.flush()
        return AppendInfo(
            base_offset,
            validated.last_offset,
            validated.log_append_time_ms,
            self.log_start_offset,
            validated.max_timestamp,
            batch.record_count,
            validated.size,
        )

    def _check_producer(
        self,
        batch: RecordBatch,
        origin: AppendOrigin,
        guard: VerificationGuard | None,
        transaction_version: int,
    ) -> EndTransactionMarker | None:
        state = self.producer_state
        offset = self.log_end_offset
        if batch.is_control:
            marker = read_end_transaction_marker(batch)
            if marker is not None:
                state.check_marker(batch, marker, offset, transaction_version)
            return marker
        if (
            self.config.verify_transactions
            and batch.is_transactional
            and not state.is_verified(batch, guard)
        ):
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE, "Record was not part of an ongoing transaction"
            )
        state.check_data(batch, offset, origin)
        return None

    def _update_producer(
        self,
        batch: RecordBatch,
        marker: EndTransactionMarker | None,
        base_offset: int,
        max_timestamp: int,
    ) -> None:
        if not batch.is_control:
            self.producer_state.update_data(batch, base_offset, max_timestamp)
            if batch.is_transactional:
                self.update_first_unstable()
        elif marker is not None:
            completed = self.producer_state.update_marker(batch, marker, base_offset, max_timestamp)
            if completed is not None:
                self._complete_transaction(completed)

    def _complete_transaction(self, completed: CompletedTransaction) -> None:
        if completed.is_aborted:
            index = self.segments.active.transaction_index
            index.append(
                AbortedTransaction(
                    completed.producer_id,
                    completed.first_offset,
                    completed.last_offset,
                    self.producer_state.last_stable_offset(completed),
                )
            )
            # A failed write is made good by the next one, or by recovery: the marker itself is in the log.
            with suppress(OSError):
                index.write()
        self.producer_state.complete(completed)
        self.update_first_unstable()

    def start_verification(
        self, producer_id: int, sequence: int, epoch: int, *, supports_epoch_bump: bool
    ) -> VerificationGuard | None:
        """A guard to get verified and then append with; None when the transaction is open already."""
        return self.producer_state.start_verification(
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
            validated = Validated(
                batch,
                (batch.buffer,),
                batch.size_bytes,
                batch.last_offset,
                batch.max_timestamp,
                NO_TIMESTAMP,
            )
            self._write(validated, batch.base_offset, batch.partition_leader_epoch, now_ms)
            completed = self.producer_state.replay(batch)
            if completed is not None:
                self._complete_transaction(completed)
            self.update_first_unstable()
        return self.log_end_offset

    def _write(
        self, validated: Validated, base_offset: int, leader_epoch: int, now_ms: int
    ) -> None:
        """The batch into the active segment, rolled first if it is full; then the log is longer."""
        last_offset = validated.last_offset
        max_timestamp = validated.max_timestamp
        try:
            if leader_epoch != self.leader_epochs.latest and leader_epoch >= 0:
                self.leader_epochs.assign(leader_epoch, base_offset)
            segment = self.segments.active
            if self.must_roll(segment, validated.size, last_offset, max_timestamp, now_ms):
                segment = self.roll()
            segment.append(
                validated.buffers,
                validated.size,
                base_offset=base_offset,
                last_offset=last_offset,
                max_timestamp=max_timestamp,
                index_interval_bytes=self.config.index_interval_bytes,
            )
        except OSError as error:
            raise self.storage_error(error) from error
        self.log_end_offset = last_offset + 1

    def must_roll(
        self, segment: LogSegment, size: int, last_offset: int, timestamp: int, now_ms: int
    ) -> bool:
        """Whether a batch of `size` bytes, with this last offset and largest timestamp, needs a new segment."""
        config = self.config
        if segment.size > config.segment_bytes - size:
            return True
        if not segment.takes_offset(last_offset):
            return True
        if not segment.size:
            return False
        waited_ms = segment.waited_for_roll_ms(now_ms, timestamp)
        return waited_ms > config.max_segment_ms - self._roll_jitter_ms or segment.is_index_full(
            config.segment_index_bytes
        )

    def roll(self) -> LogSegment:
        """Begin a new segment at the log's end; the old one is finished, and flushed by a later `flush`.

        Raises:
            OSError: the active segment is as it was.
        """
        old = self.segments.active
        if old.base_offset == self.log_end_offset:
            return old
        old.become_inactive()
        self.producer_state.end_offset = self.log_end_offset
        self.snapshots.take(self.producer_state)
        segment = LogSegment.create(
            self.directory, self.log_end_offset, self.open_files, now_ms=self.now_ms()
        )
        self.segments.add(segment)
        self._roll_jitter_ms = self._random_jitter()
        return segment

    def _random_jitter(self) -> int:
        jitter_ms = min(self.config.segment_jitter_ms, self.config.segment_ms)
        return random.randrange(jitter_ms) if jitter_ms else 0

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
        """Remove the deleted segments whose file.delete.delay.ms has passed."""
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

    def remove_expired_producers(self, expiration_ms: int = PRODUCER_ID_EXPIRATION_MS) -> None:
        """Forget producers that were silent for long (producer.id.expiration.ms)."""
        self.producer_state.remove_expired(self.now_ms(), expiration_ms)

    # -- flushing, closing, deleting

    def is_flush_due(self, now_ms: int) -> bool:
        """Whether flush.ms has passed with something unflushed."""
        return (
            self.recovery_point < self.log_end_offset
            and now_ms - self.last_flush_ms >= self.config.flush_ms
        )

    @property
    def has_unflushed_roll(self) -> bool:
        """Whether a segment that rolled is not wholly on the disk."""
        return self.recovery_point < self.segments.active.base_offset

    def flush(self) -> None:
        """Everything onto the disk; the recovery point is the log's end then. Blocks for an fsync or more.

        Raises:
            KafkaError(KAFKA_STORAGE_ERROR): the recovery point is as it was.
        """
        flush = self.begin_flush()
        if flush is not None:
            try:
                flush.run()
            except OSError as error:
                raise flush.fail(error) from error
            flush.complete()

    def begin_flush(self, up_to: int | None = None) -> Flush | None:
        """The same in three steps, of which `run` may be done in a thread; None if all is flushed.

        With `up_to`, a segment's base offset, what is before it is flushed.
        """
        self.check_online()
        offset = self.log_end_offset if up_to is None else up_to
        if self.recovery_point >= offset:
            return None
        try:
            return Flush(self, offset)
        except OSError as error:
            raise self.storage_error(error) from error

    def close(self, *, sync: bool = True) -> None:
        """Flush, write what opening fast needs (indexes, a snapshot of the producers), let go of files.

        Without `sync` the caller sees to it that all is on the disk, and says so with `synced`.

        Raises:
            KafkaError(KAFKA_STORAGE_ERROR): then the shutdown is not a clean one.
        """
        try:
            if self.offline_reason is None:
                self.segments.active.finish_indexes()
                if sync:
                    self.flush()
                self.producer_state.end_offset = self.log_end_offset
                self.snapshots.take(self.producer_state)
                self.leader_epochs.write()
                retention.unlink_deleted(self, now_ms=None)
        except OSError as error:
            raise self.storage_error(error) from error
        finally:
            self.close_files()

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
