"""A log loses its oldest records: to retention by time and size, and to DeleteRecords.

Whole segments go, oldest first, and never one that reaches above the high watermark. A segment
that goes is renamed `.deleted` at once, so that no restart sees it again. It is unlinked after
`file.delete.delay.ms`; slices being sent keep their bytes anyway. Source: Kafka's
UnifiedLog.deleteOldSegments, UnifiedLog.maybeIncrementLogStartOffset.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from kafkalite.log.disk_wait import DiskWait, Pieces, Waits, without_threads
from kafkalite.log.files import DELETED_SUFFIX
from kafkalite.log.log_state import LogState
from kafkalite.log.loggers import logger_of
from kafkalite.log.rolling import roll
from kafkalite.log.segment import LogSegment
from kafkalite.wire.errors import ErrorCode, KafkaError

_logger = logger_of(__name__)


def delete_records_before(log: LogState, offset: int) -> int:
    """Move the log start offset up to `offset`; returns the log start offset after it.

    Segments before it go with the next `retain`. Raises KafkaError(OFFSET_OUT_OF_RANGE): `offset`
    is above the high watermark.
    """
    if offset > log.high_watermark:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"Cannot increment the log start offset to {offset} of partition {log.name} "
            f"since it is larger than the high watermark {log.high_watermark}",
        )
    if offset > log.log_start_offset:
        log.log_start_offset = offset
        log.leader_epochs.truncate_from_start(offset)
        log.producer_state.log_start_moved(offset)
        log.update_first_unstable()
    return log.log_start_offset


def retain(log: LogState, now_ms: int) -> int:
    """The same as `retaining`, in one go."""
    return without_threads(retaining(log, now_ms))


def retaining(log: LogState, now_ms: int, *, takes_active: bool = False) -> Pieces[int]:
    """Delete the segments that are too old, too many, or before the log start offset.

    With `takes_active` the active one goes, too, if it is all before the log start offset.
    Returns the number of segments. Raises OSError: a segment that could not be renamed stays in the
    log.
    """
    yield from unlinking_deleted(log, now_ms)
    if log.cleaning is not None:  # its segments are being read; the next time, then
        return 0
    log.cleaning = round_ = object()
    config = log.config
    count = 0
    try:
        for is_asked, must_go, why in (
            (
                True,
                _all_before_start if takes_active else _before_start,
                "it is before the log start offset",
            ),
            (config.delete and config.retention_bytes >= 0, _over_size, "retention.bytes"),
            (config.delete and config.retention_ms >= 0, _too_old, "retention.ms"),
        ):
            if is_asked:
                count += yield from _delete_oldest(log, now_ms, must_go(log, now_ms), round_, why)
            if _is_over(log, round_):
                return count
    finally:
        if log.cleaning is round_:
            log.cleaning = None
    log.leader_epochs.write()
    return count


def _is_over(log: LogState, round_: object) -> bool:
    """True if the log was truncated, moved or deleted since the round began."""
    return log.cleaning is not round_ or log.offline_reason is not None


# True if a segment is to go; the offset is where the next one begins, or the log's end.
Predicate = Callable[[LogSegment, int], bool]


def _all_before_start(log: LogState, now_ms: int) -> Predicate:
    return lambda segment, next_offset: next_offset <= log.log_start_offset


def _before_start(log: LogState, now_ms: int) -> Predicate:
    """The active segment stays, even if all its records were deleted. Its times are still told."""
    return lambda segment, next_offset: (
        next_offset <= log.log_start_offset and segment is not log.segments.active
    )


def _over_size(log: LogState, now_ms: int) -> Predicate:
    excess = log.size_bytes - log.config.retention_bytes

    def too_many(segment: LogSegment, next_offset: int) -> bool:
        nonlocal excess
        if excess < segment.size or excess <= 0:
            return False
        excess -= segment.size
        return True

    return too_many


def _too_old(log: LogState, now_ms: int) -> Predicate:
    return lambda segment, next_offset: now_ms >= _due_ms(log, segment)


def _due_ms(log: LogState, segment: LogSegment) -> int:
    """The time from which a segment is too old."""
    return segment.largest_or_modified_ms() + log.config.retention_ms + 1


def oldest_due_ms(log: LogState) -> int | None:
    """The time from which retention.ms may delete the oldest segment; None if it keeps it for
    ever."""
    segment = log.segments.first
    if not segment.size or not log.config.delete or log.config.retention_ms < 0:
        return None
    if log.end_of(segment) > log.high_watermark or log.offline_reason is not None:
        return None
    return _due_ms(log, segment)


def _delete_oldest(
    log: LogState, now_ms: int, must_go: Predicate, round_: object, why: str
) -> Pieces[int]:
    """Delete the oldest segments that must go, one a piece, as long as the round is not over."""
    going: list[LogSegment] = []
    for segment in log.segments:
        next_offset = log.end_of(segment)
        is_empty_end = segment is log.segments.active and not segment.size
        if is_empty_end or next_offset > log.high_watermark or not must_go(segment, next_offset):
            break
        going.append(segment)
        yield None
        if _is_over(log, round_):
            return 0
    if not going:
        return 0
    if going[-1] is log.segments.active:
        roll(log)
        # The new segment's name must be on the disk before the old ones' are gone: it alone tells
        # where the log goes on.
        yield from _synced(log, partial(log.files.sync_directory, log.directory))
        if _is_over(log, round_):
            return 0
    following = log.segments.after(going[-1])
    assert following is not None
    if log.recovery_point < following.base_offset:
        # Producers must stay known when their records are gone.
        yield from _synced(log, partial(log.snapshots.sync, following.base_offset))
        if _is_over(log, round_):
            return 0
    delete_records_before(log, following.base_offset)
    for count, segment in enumerate(going, start=1):
        delete_segment(log, segment, now_ms, why)
        yield None
        if _is_over(log, round_):
            return count
    return len(going)


def _synced(log: LogState, sync: Callable[[], None]) -> Waits[None]:
    """Wait for the disk. Raises OSError, unless the log went offline meanwhile."""
    wait = DiskWait(sync)
    yield wait
    wait()
    if log.offline_reason is None:
        wait.finish()


def delete_segment(
    log: LogState, segment: LogSegment, now_ms: int, why: str, *, keep_snapshot: bool = False
) -> None:
    """Take a segment out of the log, and off the disk after `file.delete.delay.ms`.

    Raises OSError: it stays in the log.
    """
    segment.rename(log.directory, DELETED_SUFFIX)
    log.segments.remove(segment)
    segment.close()
    log.deleted_segments.append((now_ms + log.config.file_delete_delay_ms, segment))
    if not keep_snapshot:
        log.snapshots.remove_at(segment.base_offset)
    _logger.info("%s: segment at offset %d is deleted: %s", log.name, segment.base_offset, why)
    log.segment_changed("deleted", segment.base_offset, why)


def unlinking_deleted(log: LogState, now_ms: int | None) -> Waits[None]:
    """Unlink the deleted segments whose delay has passed; all of them when `now_ms` is None.

    Raises:
        OSError: those that could not be unlinked are tried again.
    """
    deleted = log.deleted_segments
    due = [each for each in deleted if now_ms is None or now_ms >= each[0]]
    if not due:
        return
    log.deleted_segments = [each for each in deleted if now_ms is not None and now_ms < each[0]]
    try:
        while due:
            segment = due[-1][1]
            segment.close()
            wait = DiskWait(segment.remove_files)
            yield wait
            wait.finish()
            due.pop()
    finally:
        log.deleted_segments += due
