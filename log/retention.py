"""What makes a log shorter: retention by time and size, deleted records, truncation.

Whole segments go, oldest first, and never one that reaches behind the high watermark. A segment that goes is
renamed `.deleted` at once, so that no restart sees it again, and unlinked after `file.delete.delay.ms`;
slices being sent keep their bytes anyway.
Source: Kafka's UnifiedLog.deleteOldSegments, LocalLog.truncateTo.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from kafkalite.log.files import DELETED_SUFFIX
from kafkalite.log.segment import LogSegment

if TYPE_CHECKING:
    from kafkalite.log.log import Log


def retain(log: Log, now_ms: int) -> int:
    """Delete the segments that are too old, too many, or before the log start offset; how many.

    Raises:
        OSError: what could not be renamed stays in the log.
    """
    unlink_deleted(log, now_ms)
    if log.cleaning is not None:  # its segments are being read; the next time, then
        return 0
    config = log.config
    count = _delete_oldest(log, now_ms, _before_start(log))
    if config.delete:
        if config.retention_bytes >= 0:
            count += _delete_oldest(log, now_ms, _over_size(log))
        if config.retention_ms >= 0:
            count += _delete_oldest(log, now_ms, _too_old(log, now_ms))
    log.leader_epochs.write()
    return count


# Whether a segment, followed by one that begins at the offset given (or the log's end), is to go.
Predicate = Callable[[LogSegment, int], bool]


def _before_start(log: Log) -> Predicate:
    return lambda segment, next_offset: next_offset <= log.log_start_offset


def _over_size(log: Log) -> Predicate:
    excess = log.size_bytes - log.config.retention_bytes

    def too_many(segment: LogSegment, next_offset: int) -> bool:
        nonlocal excess
        if excess < segment.size or excess <= 0:
            return False
        excess -= segment.size
        return True

    return too_many


def _too_old(log: Log, now_ms: int) -> Predicate:
    def too_old(segment: LogSegment, next_offset: int) -> bool:
        return now_ms - segment.largest_or_modified_ms() > log.config.retention_ms

    return too_old


def _delete_oldest(log: Log, now_ms: int, must_go: Predicate) -> int:
    going: list[LogSegment] = []
    for segment in log.segments:
        following = log.segments.after(segment)
        next_offset = log.log_end_offset if following is None else following.base_offset
        is_empty_end = following is None and not segment.size
        if is_empty_end or next_offset > log.high_watermark or not must_go(segment, next_offset):
            break
        going.append(segment)
    if not going:
        return 0
    if going[-1] is log.segments.active:
        log.roll()
        # The new segment's name must be on the disk before the old ones' are gone: it alone tells where
        # the log goes on.
        log.files.sync_directory(log.directory)
    following = log.segments.after(going[-1])
    assert following is not None
    if log.recovery_point < following.base_offset:
        # All that is known of producers whose records go now.
        log.snapshots.sync(following.base_offset)
    log.delete_records_before(following.base_offset)
    delete_segments(log, going, now_ms)
    return len(going)


def delete_segments(
    log: Log, segments: Iterable[LogSegment], now_ms: int, *, keep_snapshot_at: int = -1
) -> None:
    """Take segments out of the log, and off the disk after `file.delete.delay.ms`. Raises OSError."""
    for segment in segments:
        segment.rename(log.directory, DELETED_SUFFIX)
        log.segments.remove(segment)
        segment.close()
        log.deleted_segments.append((now_ms + log.config.file_delete_delay_ms, segment))
        if segment.base_offset != keep_snapshot_at:
            log.snapshots.remove_at(segment.base_offset)


def unlink_deleted(log: Log, now_ms: int | None) -> None:
    """Unlink the deleted segments whose delay has passed; all of them when `now_ms` is None.

    Raises:
        OSError: those that could not be unlinked are tried again.
    """
    waiting = log.deleted_segments
    log.deleted_segments = []
    while waiting:
        deadline_ms, segment = waiting.pop()
        if now_ms is not None and now_ms < deadline_ms:
            log.deleted_segments.append((deadline_ms, segment))
            continue
        try:
            segment.unlink()
        except OSError:
            log.deleted_segments += [*waiting, (deadline_ms, segment)]
            raise


def truncate(log: Log, offset: int) -> None:
    """Remove every batch that ends at or behind `offset`. Raises OSError."""
    if offset >= log.log_end_offset:
        # A leader that never appended has noted an epoch at the end, which the next one contradicts.
        log.leader_epochs.truncate_from_end(log.log_end_offset)
        log.leader_epochs.write()
        return
    log.cleaning = None
    now_ms = log.now_ms()
    if offset < log.segments.first.base_offset:
        truncate_fully(log, offset, now_ms)
        return
    # Out of the log at once: the same names may be needed again.
    for segment in reversed(list(log.segments)):
        if segment.base_offset > offset:
            log.segments.remove(segment)
            segment.unlink()
            log.snapshots.remove_at(segment.base_offset)
    log.ended_at(log.segments.active.truncate_to(offset))


def truncate_fully(log: Log, offset: int, now_ms: int) -> None:
    """Remove everything; the log goes on at `offset`. Raises OSError."""
    for segment in log.segments:
        log.segments.remove(segment)
        segment.unlink()
    log.segments.add(LogSegment.create(log.directory, offset, log.open_files, now_ms=now_ms))
    log.log_start_offset = offset
    log.leader_epochs.truncate_from_end(0)
    log.ended_at(offset)
