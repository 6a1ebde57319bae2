"""Flushing a log: what was written, onto the disk.

`Flush(log)` gathers the files and writes the indexes out; `run` calls fsync, which takes as long as
the disk likes and releases the GIL, so it may be done in a thread; `complete` moves the recovery
point. Appends may go on meanwhile: what comes after the beginning is not covered.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kafkalite.log.open_files import FileSlice
from kafkalite.log.retention import unlink_deleted
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.log.log import Log


class Flush:
    """One flush of one log, up to `offset`. Raises OSError."""

    def __init__(self, log: Log, offset: int) -> None:
        self._log = log
        self._files = log.files
        self._directory = log.directory
        self.offset = offset
        self._began_ms = log.now_ms()
        # A slice of no bytes keeps a file open, past its segment's deletion.
        self._slices: list[FileSlice] = []
        self._indexes: list[Path] = []
        segments = [
            segment
            for segment in log.segments.since(log.recovery_point)
            if segment.size and segment.base_offset < offset
        ]
        for segment in segments:
            segment.write_indexes()
            segment.transaction_index.write()
            self._slices.append(FileSlice(segment.file, 0, 0))
            self._indexes += [index.path for index in segment.indexes if index.count]
            self._indexes.append(log.snapshots.path(segment.base_offset))
        # Names are made and changed only when a segment begins or the log does.
        self._must_sync_directory = log.recovery_point <= log.segments.active.base_offset

    def run(self) -> None:
        """Call fsync on everything. Touches nothing of the log: may run in a thread."""
        for held in self._slices:
            self._files.sync(held.fileno())
        for path in self._indexes:
            self._files.sync_file(path)
        if self._must_sync_directory:
            self._files.sync_directory(self._directory)

    def complete(self) -> None:
        """The recovery point moves to `offset`, unless the log was truncated meanwhile."""
        log = self._log
        self.abandon()
        log.recovery_point = max(log.recovery_point, min(self.offset, log.log_end_offset))
        log.last_flush_ms = self._began_ms
        if log.on_flushed is not None:
            log.on_flushed()

    def fail(self, error: OSError) -> KafkaError:
        """`run` raised: nothing counts as flushed. What a client would be told."""
        self.abandon()
        reason = self._log.offline_reason
        if reason is not None:  # deleted or moved meanwhile: its directory has another name
            return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self._log.name}: {reason}")
        return self._log.storage_error(error)

    def abandon(self) -> None:
        """Let go of the files; nothing counts as flushed."""
        for held in self._slices:
            held.close()


def flush(log: Log) -> None:
    """Everything onto the disk. Raises KafkaError(KAFKA_STORAGE_ERROR)."""
    begun = begin_flush(log, None)
    if begun is not None:
        try:
            begun.run()
        except OSError as error:
            raise begun.fail(error) from error
        begun.complete()


def is_flush_due(log: Log, now_ms: int) -> bool:
    """True if flush.ms has passed with something unflushed."""
    return (
        log.recovery_point < log.log_end_offset
        and now_ms - log.last_flush_ms >= log.config.flush_ms
    )


def has_unflushed_roll(log: Log) -> bool:
    """True if a segment that rolled is not wholly on the disk."""
    return log.recovery_point < log.segments.active.base_offset


def begin_flush(log: Log, up_to: int | None) -> Flush | None:
    """A flush up to an offset, the log's end if None; None if all is flushed. Raises KafkaError."""
    log.check_online()
    offset = log.log_end_offset if up_to is None else up_to
    if log.recovery_point >= offset:
        return None
    try:
        return Flush(log, offset)
    except OSError as error:
        raise log.storage_error(error) from error


def close(log: Log, *, sync: bool) -> None:
    """Write what is not written yet, and let go of the files. Raises
    KafkaError(KAFKA_STORAGE_ERROR)."""
    try:
        if log.offline_reason is None:
            log.segments.active.finish_indexes()
            if sync:
                flush(log)
            log.producer_state.end_offset = log.log_end_offset
            log.snapshots.take(log.producer_state)
            log.leader_epochs.write()
            unlink_deleted(log, now_ms=None)
    except OSError as error:
        raise log.storage_error(error) from error
    finally:
        log.close_files()
