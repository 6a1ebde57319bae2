"""A partition's log: append-only, in segments, in Kafka's format on disk.

`Log` gives batches their offsets, remembers producers, rolls segments and hands out slices of
files. Everything is a plain function, so under trio nothing comes between two of its steps. The
fields are those of `LogState`. Source: Kafka's UnifiedLog and LocalLog.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from struct import Struct
from typing import Final

from kafkalite.log import flushing, retention, rolling, truncation
from kafkalite.log.acceptance import accept
from kafkalite.log.accepted_batch import AcceptedBatch, as_accepted
from kafkalite.log.append_info import AppendInfo, AppendOrigin, as_duplicate
from kafkalite.log.disk_wait import Pieces, Waits, without_threads
from kafkalite.log.flushing import Flush
from kafkalite.log.joined_writes import JoinedWrites, may_be_joined, write_first
from kafkalite.log.loggers import logger_of
from kafkalite.log.producer_entry import BatchMetadata
from kafkalite.log.producer_state import CompletedTransaction
from kafkalite.log.reading import LogReader, ReadResult
from kafkalite.log.segment import LogSegment
from kafkalite.log.trusted_records import Pairs, trusted_batch
from kafkalite.log.validation import validate
from kafkalite.log.verification import VerificationGuard
from kafkalite.wire.compression import Compression
from kafkalite.wire.control_records import read_end_transaction_marker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import (
    LOG_OVERHEAD,
    MAGIC,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    RecordBatch,
    iterate_batches,
)

_logger = logger_of(__name__)

__all__ = ["AppendInfo", "AppendOrigin", "Log", "ReadResult"]

# The fields before those that the checksum covers: offset, length, leader epoch, magic, checksum.
pack_head: Final = Struct(">qiibI").pack


class Log(LogReader):
    """One partition's log. Made by `open_log`.

    Every method may raise KafkaError(KAFKA_STORAGE_ERROR), when the disk fails, besides the errors
    it names itself.
    """

    # -- appending

    def append(
        self,
        records: bytes | bytearray | memoryview,
        *,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        verification_guard: VerificationGuard | None = None,
        transaction_version: int = 0,
        checked: Callable[[], AcceptedBatch] | None = None,
        briefly: bool = False,
        now_ms: int = NO_TIMESTAMP,
        joined: JoinedWrites | None = None,
    ) -> AppendInfo:
        """Append one batch as the leader, or nothing; `records` is neither kept nor changed.
        `checked` has looked at a client's batch already; `now_ms` is the time if it is known.
        A small batch may be written with those that are `joined` after it.

        Raises:
            TakesLong: `briefly` is asked for, and the batch is to be `checked` in a thread.
            InvalidRecordsError: single records are at fault: INVALID_RECORD, INVALID_TIMESTAMP.
            KafkaError: CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE,
                INVALID_TXN_STATE, INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER,
                TRANSACTION_COORDINATOR_FENCED, KAFKA_STORAGE_ERROR.
        """
        if self.offline_reason is not None:
            self.check_online()
        config = self.config
        now_ms = self.now_ms() if now_ms == NO_TIMESTAMP else now_ms
        batch = None if checked is None else checked()
        if batch is None and origin is AppendOrigin.CLIENT:
            batch = accept(records, config, now_ms, briefly)
        if batch is None:
            batch = validate(records, config, name=self.name, origin=origin, now_ms=now_ms)
        base_offset = self.log_end_offset
        if batch.producer_id <= NO_PRODUCER_ID:
            self._commit(batch, base_offset, leader_epoch, now_ms, None, joined)
        elif batch.is_control:
            marker = read_end_transaction_marker(RecordBatch(records))
            if marker is not None:
                self.producer_state.check_marker(batch, marker, base_offset, transaction_version)
            self._commit(batch, base_offset, leader_epoch, now_ms)
            if marker is not None:
                self._complete(self.producer_state.update_marker(batch, marker, base_offset))
        else:
            duplicate = self._commit_data(
                batch, base_offset, leader_epoch, now_ms, origin, verification_guard, joined
            )
            if duplicate is not None:
                return as_duplicate(duplicate, self.log_start_offset)
        end_offset, time_ms = self.log_end_offset, batch.log_append_time_ms
        if end_offset - self.recovery_point >= config.most_unflushed:
            flushing.flush_if_due(self)
        return AppendInfo(base_offset, end_offset - 1, time_ms, self.log_start_offset)

    def append_trusted(
        self,
        pairs: Pairs,
        timestamp: int,
        leader_epoch: int,
        producer: tuple[int, int] | None = None,
        verification_guard: VerificationGuard | None = None,
        codec: Compression = Compression.NONE,
        base_sequence: int = NO_SEQUENCE,
    ) -> int:
        """Append keys and values, at least one pair, as one batch; returns its base offset.

        They never left this process, so they need no validation. A log that stamps or compresses
        its batches validates them like any others. `timestamp` is in milliseconds. `producer` has
        the transaction's producer id and epoch. Raises KafkaError: MESSAGE_TOO_LARGE,
        RECORD_LIST_TOO_LARGE, INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE, KAFKA_STORAGE_ERROR.
        """
        config = self.config
        batch = trusted_batch(pairs, timestamp, producer, codec, base_sequence)
        if not config.keeps_batches or batch.size_bytes > config.max_batch_bytes:
            head = pack_head(0, batch.size_bytes - LOG_OVERHEAD, leader_epoch, MAGIC, batch.crc)
            return self.append(
                head + batch.under_crc,
                leader_epoch=leader_epoch,
                origin=AppendOrigin.COORDINATOR,
                verification_guard=verification_guard,
            ).base_offset
        self.check_online()
        base_offset = self.log_end_offset
        now_ms = self.now_ms()
        if producer is None:
            self._commit(batch, base_offset, leader_epoch, now_ms)
        else:
            origin = AppendOrigin.COORDINATOR
            self._commit_data(batch, base_offset, leader_epoch, now_ms, origin, verification_guard)
        flushing.flush_if_due(self)
        return base_offset

    def _commit_data(
        self,
        batch: AcceptedBatch,
        base_offset: int,
        leader_epoch: int,
        now_ms: int,
        origin: AppendOrigin,
        guard: VerificationGuard | None,
        joined: JoinedWrites | None = None,
    ) -> BatchMetadata | None:
        """Write a batch of a producer's data, or return the one that it repeats."""
        duplicate = self.producer_state.check(
            batch, base_offset, origin, guard, must_be_verified=self.config.verify_transactions
        )
        if duplicate is None:
            self._commit(batch, base_offset, leader_epoch, now_ms, None, joined)
            if self.unwritten is not None:
                self.unwritten.keep_producer(batch.producer_id)
            self.producer_state.update_data(batch, base_offset)
            if batch.is_transactional:
                self.update_first_unstable()
        return duplicate

    def _complete(self, transaction: CompletedTransaction | None) -> None:
        """Note the transaction that a marker ended, if it ended one."""
        if transaction is not None:
            aborted = self.producer_state.complete(transaction)
            if aborted is not None:
                self.segments.active.transaction_index.note(aborted)
        self.update_first_unstable()

    def start_verification(
        self, producer_id: int, sequence: int, epoch: int, *, supports_epoch_bump: bool
    ) -> VerificationGuard | None:
        """A guard to verify and then append with; None if the transaction is open already.

        Raises KafkaError(INVALID_PRODUCER_EPOCH).
        """
        state = self.producer_state
        state.check_epoch(producer_id, epoch)
        if state.has_ongoing_transaction(producer_id, epoch):
            return None
        return state.verifications.start(
            producer_id,
            sequence,
            epoch,
            supports_epoch_bump=supports_epoch_bump,
            now_ms=self.now_ms(),
        )

    def append_as_follower(
        self, records: bytes | bytearray | memoryview, checked: AcceptedBatch | None = None
    ) -> int:
        """Append batches as they are, with their offsets and epochs; returns the log end offset.

        One write takes all that go into one segment. `checked`: the only one, known to be valid.
        Raises KafkaError: CORRUPT_MESSAGE, OFFSET_OUT_OF_RANGE (an offset below the log's end),
        KAFKA_STORAGE_ERROR.
        """
        self.check_online()
        now_ms, source = self.now_ms(), None if checked else memoryview(records)
        try:
            for batch in iterate_batches(records):
                if checked is None:
                    batch.ensure_valid()
                if batch.base_offset < self.log_end_offset:
                    raise KafkaError(
                        ErrorCode.OFFSET_OUT_OF_RANGE,
                        f"Unexpected offset in append to {self.name}: {batch.base_offset} is less "
                        f"than the next offset {self.log_end_offset}",
                    )
                accepted, epoch = checked or as_accepted(batch), batch.partition_leader_epoch
                self._commit(accepted, batch.base_offset, epoch, now_ms, source)
                self._complete(self.producer_state.replay(batch))
                source = source and source[batch.size_bytes :]
        finally:
            self.segments.active.forget_ahead()
        flushing.flush_if_due(self)
        return self.log_end_offset

    def _commit(
        self,
        batch: AcceptedBatch,
        base_offset: int,
        leader_epoch: int,
        now_ms: int,
        source: memoryview | None = None,
        joined: JoinedWrites | None = None,
    ) -> None:
        """Write one batch, index it, and move the log end offset after it.

        The active segment is rolled first if it is full. `source`: its bytes as they are, and those
        of what is appended next. `joined`: it may be written later, with others. Raises
        KafkaError(KAFKA_STORAGE_ERROR): the log is as it was.
        """
        size = batch.size_bytes
        last_offset = base_offset + batch.last_offset_delta
        try:
            if leader_epoch != self.leader_epochs.latest and leader_epoch >= 0:
                self.leader_epochs.assign(leader_epoch, base_offset)
            segment = rolling.segment_for(self, batch, last_offset, now_ms)
            config, timestamp = self.config, batch.max_timestamp
            is_joined = joined is not None and may_be_joined(self, segment, size)
            if not is_joined and self.unwritten is not None:
                write_first(self)
            if is_joined:
                assert joined is not None
                head = pack_head(base_offset, size - LOG_OVERHEAD, leader_epoch, MAGIC, batch.crc)
                joined.append(self, segment, head + batch.under_crc)
                segment.append_later(
                    size, base_offset, last_offset, timestamp, config.most_unindexed_bytes
                )
            elif source is not None:
                segment.append_first(source, size, base_offset, last_offset, timestamp, config)
            else:
                head = pack_head(base_offset, size - LOG_OVERHEAD, leader_epoch, MAGIC, batch.crc)
                index_interval = config.most_unindexed_bytes
                segment.append(
                    head, batch.under_crc, size, base_offset, last_offset, timestamp, index_interval
                )
        except OSError as error:
            raise self.storage_error(error) from error
        self.log_end_offset = self.producer_state.end_offset = last_offset + 1

    def roll(self) -> LogSegment:
        """Begin a new segment at the log's end, if the active one is not empty.

        The next `flush` covers the old one. Raises OSError: the active segment is as it was.
        """
        return rolling.roll(self)

    # -- what shortens the log

    def delete_records_before(self, offset: int) -> int:
        """Move the log start offset up to `offset` (DeleteRecords); returns it.

        Segments before it go with the next `retain`. Raises KafkaError(OFFSET_OUT_OF_RANGE).
        """
        self.check_online()
        return retention.delete_records_before(self, offset)

    def retain(self) -> int:
        """Delete the segments that retention does not keep; returns how many."""
        return without_threads(self.retaining())

    def retaining(self, *, takes_active: bool = False) -> Pieces[int]:
        """The same as `retain`, in pieces; it yields its waits for the disk."""
        self.check_online()
        try:
            return (yield from retention.retaining(self, self.now_ms(), takes_active=takes_active))
        except OSError as error:
            raise self.storage_error(error) from error

    def unlinking_deleted(self) -> Waits[None]:
        """Remove the deleted segments whose file.delete.delay.ms has passed. Raises OSError."""
        if self.deleted_segments:
            yield from retention.unlinking_deleted(self, self.now_ms())

    def truncate_to(self, offset: int) -> None:
        """Remove every batch that ends at or after `offset`, as a follower does (KIP-101)."""
        self.check_online()
        try:
            truncation.truncate(self, offset)
        except OSError as error:
            raise self.storage_error(error) from error

    def start_over_at(self, offset: int) -> None:
        """Remove every batch; the log begins at `offset`, as a follower's does."""
        self.check_online()
        try:
            truncation.truncate_fully(self, offset, self.now_ms())
        except OSError as error:
            raise self.storage_error(error) from error
        self.high_watermark = offset

    # -- flushing, closing, deleting

    def flush(self) -> None:
        """Flush everything; the recovery point is the log's end then. Blocks for fsyncs.

        Raises KafkaError(KAFKA_STORAGE_ERROR): the recovery point is as it was.
        """
        flushing.flush(self)

    def begin_flush(self, up_to: int | None = None) -> Flush | None:
        """A flush in three steps, of which a thread may do `run`; None if all is flushed.

        `up_to` is the base offset of the first segment to leave out. Many need several flushes.
        """
        return flushing.begin_flush(self, up_to)

    def close(self, *, sync: bool = True) -> None:
        """Flush, write the files that make the next opening fast, and let go of all files.

        Without `sync` the caller flushes, and then calls `synced`. Raises
        KafkaError(KAFKA_STORAGE_ERROR): the shutdown is not a clean one then.
        """
        flushing.close(self, sync=sync)

    def settle(self) -> None:
        """Write the files that make the next opening fast, and go on. Raises KafkaError."""
        flushing.settle(self)

    def synced(self) -> None:
        """Take note that everything written is on the disk now."""
        self.recovery_point = self.log_end_offset

    def delete(self, target: Path) -> bool:
        """Rename the log's directory to `target`, to be removed later; False if it is gone.

        Its files are still to be closed; slices being sent keep their bytes. Raises KafkaError.
        """
        try:
            self.files.rename(self.directory, target)
        except OSError as error:
            is_gone = isinstance(error, FileNotFoundError)
            if not is_gone or not self.files.is_directory(self.directory.parent):
                raise self.storage_error(error) from error
            _logger.warning("%s: deleted, and was gone already", self.directory)
            return False
        self.offline_reason = "deleted"
        self.is_renamed = True
        self.directory = target
        return True
