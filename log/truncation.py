"""A log loses its newest records: a follower goes back to where it agrees with its leader.

Source: Kafka's UnifiedLog.truncateTo, truncateFullyAndStartAt; KIP-101.
"""

from __future__ import annotations

from kafkalite.log.log_state import LogState
from kafkalite.log.recovery import replay_producers
from kafkalite.log.segment import LogSegment


def truncate(log: LogState, offset: int) -> None:
    """Remove every batch that ends at or after `offset` (KIP-101). Raises OSError."""
    if offset >= log.log_end_offset:
        # A leader that never appended has noted an epoch at the end. The next one contradicts it.
        log.leader_epochs.truncate_from_end(log.log_end_offset)
        log.leader_epochs.write()
        return
    if offset < log.segments.first.base_offset:
        truncate_fully(log, offset, log.now_ms())
        return
    log.cleaning = None
    # Off the disk at once: the same names may be needed again. One that cannot be unlinked stays in
    # the log, and is tried again.
    for segment in reversed(list(log.segments)):
        if segment.base_offset > offset:
            segment.unlink()
            log.segments.remove(segment)
            log.segment_changed("deleted", segment.base_offset, "it is truncated")
    _ended_at(log, log.segments.active.truncate_to(offset))


def truncate_fully(log: LogState, offset: int, now_ms: int) -> None:
    """Remove every batch; the log goes on at `offset`. Raises OSError."""
    log.cleaning = None
    # First, so that a crash leaves no producer whose batches are gone.
    log.snapshots.remove_all()
    # All of them before any leaves the table: a log has a segment, also after an error.
    for segment in log.segments:
        segment.unlink()
    empty = LogSegment.create(log.directory, offset, log.open_files, now_ms=now_ms)
    for segment in log.segments:
        log.segments.remove(segment)
        log.segment_changed("deleted", segment.base_offset, "it is truncated")
    log.segments.add(empty)
    log.log_start_offset = offset
    log.leader_epochs.truncate_from_end(0)
    _ended_at(log, offset)


def _ended_at(log: LogState, offset: int) -> None:
    """The log was cut to end at `offset`: all that is known of it follows. Raises OSError."""
    log.log_end_offset = offset
    log.log_start_offset = min(log.log_start_offset, offset)
    log.recovery_point = min(log.recovery_point, offset)
    log.high_watermark = min(log.high_watermark, offset)
    log.leader_epochs.truncate_from_end(offset)
    log.producer_state.clear()
    log.snapshots.remove_behind(offset)
    log.snapshots.load_latest(log.producer_state, log.segments.first.base_offset)
    replay_producers(log.segments, log.producer_state, offset)
    log.producer_state.end_offset = offset
    log.update_first_unstable()
    # Last: on a full disk they fail, and the log goes on with what is in memory.
    log.on_cut(offset)
    log.leader_epochs.write()
