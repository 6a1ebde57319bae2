"""A log begins a new segment. Source: Kafka's LocalLog.roll."""

from __future__ import annotations

from kafkalite.log.accepted_batch import AcceptedBatch
from kafkalite.log.joined_writes import write_first
from kafkalite.log.log_state import LogState
from kafkalite.log.loggers import logger_of
from kafkalite.log.segment import LogSegment

_logger = logger_of(__name__)


def segment_for(log: LogState, batch: AcceptedBatch, last_offset: int, now_ms: int) -> LogSegment:
    """The active segment, or a new one if a batch has no room in it. Raises OSError, as `roll`."""
    size, timestamp, jitter_ms = batch.size_bytes, batch.max_timestamp, log.roll_jitter_ms
    segment = log.segments.active
    if segment.must_roll(
        size, last_offset, timestamp, now_ms, log.config, jitter_ms, log.index_bytes
    ):
        return roll(log)
    return segment


def roll(log: LogState) -> LogSegment:
    """Begin a new segment at the log's end. Raises OSError: the active segment is as it was."""
    old = log.segments.active
    if old.base_offset == log.log_end_offset:
        return old
    if log.unwritten is not None:
        write_first(log)
    old.become_inactive()
    log.producer_state.end_offset = log.log_end_offset
    log.snapshots.take(log.producer_state)
    segment = LogSegment.create(
        log.directory, log.log_end_offset, log.open_files, now_ms=log.now_ms()
    )
    log.segments.add(segment)
    _logger.info("%s: new segment at offset %d", log.name, segment.base_offset)
    log.segment_changed("rolled", segment.base_offset, f"{old.size} bytes are in the one before")
    log.roll_jitter_ms = log.config.random_segment_jitter_ms(f"{log.name}/{segment.base_offset}")
    log.index_bytes = log.config.segment_index_bytes
    return segment
