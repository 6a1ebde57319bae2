"""The side that appends, and the outcome."""

from __future__ import annotations

from enum import IntEnum

from kafkalite.log.producer_entry import BatchMetadata


class AppendOrigin(IntEnum):
    """The side that appends: it decides the checks that are made."""

    REPLICATION = 0
    COORDINATOR = 1
    CLIENT = 2


class AppendInfo:
    """The offsets that a batch got. A retry (`is_duplicate`) has those of the first append."""

    __slots__ = (
        "base_offset",
        "is_duplicate",
        "last_offset",
        "log_append_time_ms",
        "log_start_offset",
    )

    def __init__(
        self,
        base_offset: int,
        last_offset: int,
        log_append_time_ms: int,
        log_start_offset: int,
        *,
        is_duplicate: bool = False,
    ) -> None:
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.log_append_time_ms = log_append_time_ms
        self.log_start_offset = log_start_offset
        self.is_duplicate = is_duplicate


def as_duplicate(first: BatchMetadata, log_start_offset: int) -> AppendInfo:
    """A retry's outcome: the offsets and the timestamp of the first append."""
    return AppendInfo(
        first.first_offset,
        first.last_offset,
        first.timestamp,
        log_start_offset,
        is_duplicate=True,
    )
