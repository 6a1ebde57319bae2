"""A log is flushed: its written bytes go onto the disk.

A flush has three steps. `Flush(log)` gathers the files and writes the indexes. `run` calls fsync,
which takes as long as the disk likes and releases the GIL: a thread may do it. `complete` moves the
recovery point. Appends may go on meanwhile; the flush does not cover them.

One flush takes in so many segments only: all their files are open meanwhile, and to gather more
would keep others waiting. A log of more unflushed segments takes several flushes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from kafkalite.log.disk_wait import DiskWait, Waits, without_threads
from kafkalite.log.files import PARTITION_METADATA
from kafkalite.log.log_state import LogState
from kafkalite.log.open_files import FileSlice
from kafkalite.log.retention import unlinking_deleted
from kafkalite.wire.errors import ErrorCode, KafkaError

# To gather so many takes 3 ms.
MOST_SEGMENTS: Final = 100


class Flush:
    """One flush of one log, up to `offset`, or up to where MOST_SEGMENTS end. Raises OSError."""

    def __init__(self, log: LogState, offset: int) -> None:
        unflushed = log.segments.since(log.recovery_point)[: MOST_SEGMENTS + 1]
        # False if another flush is to follow.
        self.is_last = len(unflushed) <= MOST_SEGMENTS or unflushed[-1].base_offset >= offset
        if not self.is_last:
            offset = unflushed[-1].base_offset
        self._log = log
        self._files = log.files
        self._directory = log.directory
        self.offset = offset
        self._began_ms = log.now_ms()
        log.leader_epochs.write()
        # A slice of no bytes keeps a file open, past its segment's deletion.
        self._slices: list[FileSlice] = []
        self._indexes: list[Path] = []
        segments = [
            segment for segment in unflushed if segment.size and segment.base_offset < offset
        ]
        for segment in segments:
            segment.write_indexes()
            segment.transaction_index.write()
            self._slices.append(FileSlice(segment.file, 0, 0))
            self._indexes += [index.path for index in segment.indexes if index.count]
            self._indexes.append(log.snapshots.path(segment.base_offset))
        if log.recovery_point <= log.segments.first.base_offset:  # as Kafka, with the first records
            self._indexes.append(log.directory / PARTITION_METADATA)
        self._epochs = log.leader_epochs.unsynced
        if self._epochs is not None:
            self._indexes.append(self._epochs[0])
        # Names are made and changed only when a segment begins, the log does, or an epoch.
        self._must_sync_directory = (
            log.recovery_point <= log.segments.active.base_offset or self._epochs is not None
        )
        self._must_sync_parent = log.has_new_name

    @property
    def waits_for_disk(self) -> bool:
        """True if `run` takes its time."""
        return self._files.waits_for_disk

    def run(self) -> None:
        """Call fsync on everything. Touches nothing of the log: may run in a thread."""
        for held in self._slices:
            self._files.sync(held.fileno())
        for path in self._indexes:
            self._files.sync_file(path)
        if self._must_sync_directory:
            self._files.sync_directory(self._directory)
        if self._must_sync_parent:
            self._files.sync_directory(self._directory.parent)

    def waiting(self) -> Waits[None]:
        """`run`, for a thread, then `complete`. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
        wait = DiskWait(self.run)
        try:
            yield wait
            wait.finish()
        except OSError as error:
            raise self.fail(error) from error
        except BaseException:
            self.abandon()
            raise
        self.complete()

    def complete(self) -> None:
        """Move the recovery point to `offset`, or to the log's end if it was truncated since."""
        log = self._log
        self.abandon()
        if self._epochs is not None:
            log.leader_epochs.synced(self._epochs[1])
        log.recovery_point = max(log.recovery_point, min(self.offset, log.log_end_offset))
        if self.is_last:
            log.last_flush_ms = self._began_ms
        _ended(log)

    def fail(self, error: OSError) -> KafkaError:
        """The client's error when `run` raised: nothing counts as flushed."""
        self.abandon()
        log, reason = self._log, self._log.offline_reason
        log.failed_flush_count += 1
        if reason is None:
            said = log.storage_error(error)
        else:  # deleted or moved meanwhile: its directory has another name
            said = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{log.name}: {reason}")
        _ended(log)
        return said

    def abandon(self) -> None:
        """Let go of the files; nothing counts as flushed."""
        for held in self._slices:
            held.close()


def _ended(log: LogState) -> None:
    if log.flush_requests.ended is not None:
        log.flush_requests.ended(log)


def flush_if_due(log: LogState) -> None:
    """Flush what flush.messages asks for, or have it flushed later: as `FlushRequests` says.

    Raises KafkaError(KAFKA_STORAGE_ERROR): it was flushed here, in vain.
    """
    if log.log_end_offset - log.recovery_point < log.config.flush_messages:
        return
    later = log.flush_requests.later
    if later is None:
        flush(log)
    else:
        log.flush_wanted_to = log.log_end_offset
        later(log)


def flush(log: LogState) -> None:
    """Flush everything. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
    while (begun := begin_flush(log, None)) is not None:
        try:
            begun.run()
        except OSError as error:
            raise begun.fail(error) from error
        begun.complete()


def is_flush_due(log: LogState, now_ms: int) -> bool:
    """True if flush.ms has passed with something unflushed, or an earlier flush failed."""
    return log.recovery_point < log.log_end_offset and (
        now_ms - log.last_flush_ms >= log.config.flush_ms or log.awaits_flush
    )


def has_unflushed_roll(log: LogState) -> bool:
    """True if a segment that rolled is not wholly on the disk."""
    return log.recovery_point < log.segments.active.base_offset


def begin_flush(log: LogState, up_to: int | None) -> Flush | None:
    """A flush up to an offset, by default the log's end, or part of it; None if all is flushed.

    Raises KafkaError(KAFKA_STORAGE_ERROR).
    """
    log.check_online()
    offset = log.log_end_offset if up_to is None else up_to
    if log.recovery_point >= offset:
        return None
    try:
        return Flush(log, offset)
    except OSError as error:
        log.failed_flush_count += 1
        said = log.storage_error(error)
        _ended(log)
        raise said from error


def settle(log: LogState) -> None:
    """Write the indexes, a producer snapshot and the epochs, so that opening the log is fast.

    Does nothing if the log is offline. Raises KafkaError(KAFKA_STORAGE_ERROR).
    """
    if log.offline_reason is None:
        try:
            log.segments.active.forget_ahead()
            log.segments.active.finish_indexes()
            _write_state(log)
        except OSError as error:
            raise log.storage_error(error) from error


def close(log: LogState, *, sync: bool) -> None:
    """Settle and, with `sync`, flush; then let go of the files.

    Raises KafkaError(KAFKA_STORAGE_ERROR).
    """
    try:
        if log.offline_reason is None:
            log.segments.active.forget_ahead()
            log.segments.active.finish_indexes()
            if sync:
                flush(log)
            _write_state(log)
            without_threads(unlinking_deleted(log, now_ms=None))
    except OSError as error:
        raise log.storage_error(error) from error
    finally:
        log.close_files()


def _write_state(log: LogState) -> None:
    log.producer_state.end_offset = log.log_end_offset
    log.snapshots.take(log.producer_state)
    log.leader_epochs.write()
