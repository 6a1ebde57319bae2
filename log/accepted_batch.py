"""A batch that may be appended: its bytes and its header's fields."""

from __future__ import annotations

from typing import Final

from kafkalite.wire.record_batch import (
    CONTROL_FLAG,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    RecordBatch,
    increment_sequence,
)

# A larger batch is checked in a thread, and written in pieces of this size: a millisecond each.
PIECE_BYTES: Final = 4 << 20


class AcceptedBatch:
    """A batch that may be appended.

    `under_crc` are its bytes from the attributes on, which `crc` covers. `log_append_time_ms` is -1
    unless the topic stamps its batches.
    """

    __slots__ = (
        "attributes",
        "base_sequence",
        "crc",
        "last_offset_delta",
        "log_append_time_ms",
        "max_timestamp",
        "producer_epoch",
        "producer_id",
        "record_count",
        "size_bytes",
        "under_crc",
    )

    def __init__(
        self,
        crc: int,
        under_crc: bytes | memoryview,
        size_bytes: int,
        attributes: int,
        last_offset_delta: int,
        max_timestamp: int,
        producer_id: int,
        producer_epoch: int,
        base_sequence: int,
        record_count: int,
        log_append_time_ms: int = NO_TIMESTAMP,
    ) -> None:
        self.crc = crc
        self.under_crc = under_crc
        self.size_bytes = size_bytes
        self.attributes = attributes
        self.last_offset_delta = last_offset_delta
        self.max_timestamp = max_timestamp
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.record_count = record_count
        self.log_append_time_ms = log_append_time_ms

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_FLAG)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_FLAG)

    @property
    def last_sequence(self) -> int:
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)


def as_accepted(batch: RecordBatch) -> AcceptedBatch:
    """A batch that was accepted before: by a leader, or before a restart."""
    return AcceptedBatch(
        batch.crc,
        batch.under_crc,
        batch.size_bytes,
        batch.attributes,
        batch.last_offset_delta,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.record_count,
    )
