"""The outcome of an append."""

from __future__ import annotations

from typing import NamedTuple

from kafkalite.log.producer_entry import BatchMetadata
from kafkalite.wire.record_batch import NO_TIMESTAMP


class AppendInfo(NamedTuple):
    """The offsets that a batch got. A retry (`is_duplicate`) has those of the first append."""

    base_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    max_timestamp: int = NO_TIMESTAMP
    record_count: int = 0
    size_bytes: int = 0
    is_duplicate: bool = False


def as_duplicate(first: BatchMetadata, log_start_offset: int) -> AppendInfo:
    """A retry's outcome: the offsets and the timestamp of the first append."""
    return AppendInfo(
        first.first_offset,
        first.last_offset,
        first.timestamp,
        log_start_offset,
        is_duplicate=True,
    )
