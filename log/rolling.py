"""How a log begins a new segment. Source: Kafka's LocalLog.roll."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from kafkalite.log.segment import LogSegment

if TYPE_CHECKING:
    from kafkalite.log.config import LogConfig
    from kafkalite.log.log import Log


def roll(log: Log) -> LogSegment:
    """Begin a new segment at the log's end. Raises OSError: the active segment is as it was."""
    old = log.segments.active
    if old.base_offset == log.log_end_offset:
        return old
    old.become_inactive()
    log.producer_state.end_offset = log.log_end_offset
    log.snapshots.take(log.producer_state)
    segment = LogSegment.create(
        log.directory, log.log_end_offset, log.open_files, now_ms=log.now_ms()
    )
    log.segments.add(segment)
    log.roll_jitter_ms = random_jitter_ms(log.config)
    return segment


def random_jitter_ms(config: LogConfig) -> int:
    """How much earlier than segment.ms the next segment begins: not all logs roll at once."""
    jitter_ms = min(config.segment_jitter_ms, config.segment_ms)
    return random.randrange(jitter_ms) if jitter_ms else 0
