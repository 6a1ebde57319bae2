"""Whether a client's batch may go into a log as it came: one look at its header, one expression.

Nearly every batch is acceptable. For every other one validation.py says why not, or rewrites it.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from kafkalite.log.config import LogConfig
from kafkalite.wire.compression import Compression
from kafkalite.wire.record_batch import (
    ATTRIBUTES_POSITION,
    COMPRESSION_MASK,
    CONTROL_FLAG,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    MIN_RECORD_BYTES,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    RecordBatch,
    increment_sequence,
)

# What an append may change without touching the checksum lies before the magic: offset, length, epoch.
UNCHANGED_POSITION = 16

# The header (wire/record_batch.py) without leader epoch and first timestamp.
_unpack_header = Struct(">qi4xBIhi8xqqhii").unpack_from
_CODEC_AND_TRANSACTIONAL = COMPRESSION_MASK | TRANSACTIONAL_FLAG


class AcceptedBatch(NamedTuple):
    """A batch that may be appended: its bytes from the magic on, and its header's fields."""

    buffers: tuple[bytes | memoryview, ...]
    size_bytes: int
    attributes: int
    last_offset_delta: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    log_append_time_ms: int = NO_TIMESTAMP

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


def accept(
    records: bytes | bytearray | memoryview, config: LogConfig, now_ms: int
) -> AcceptedBatch | None:
    """A client's batch as it may be appended, None if something about it needs validation.py."""
    size = len(records)
    if (
        not HEADER_BYTES <= size <= config.max_batch_bytes
        or not config.keeps_batches
        or config.checks_records
    ):
        return None
    (
        base_offset,
        length,
        magic,
        crc,
        attributes,
        last_offset_delta,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    ) = _unpack_header(records)
    view = memoryview(records)
    if not (
        base_offset == 0
        and magic == MAGIC
        and length + LOG_OVERHEAD == size
        and attributes & _CODEC_AND_TRANSACTIONAL == attributes
        and attributes & COMPRESSION_MASK <= Compression.ZSTD
        and 0 < count == last_offset_delta + 1
        and (attributes & COMPRESSION_MASK or count * MIN_RECORD_BYTES <= size - HEADER_BYTES)
        and max_timestamp <= now_ms + config.message_timestamp_after_max_ms
        and (producer_id <= NO_PRODUCER_ID or base_sequence >= 0)
        and crc == crc32c(view[ATTRIBUTES_POSITION:])
    ):
        return None
    return AcceptedBatch(
        (view[UNCHANGED_POSITION:],),
        size,
        attributes,
        last_offset_delta,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
        NO_TIMESTAMP,
    )


def as_accepted(batch: RecordBatch) -> AcceptedBatch:
    """A batch that a leader accepted before."""
    return AcceptedBatch(
        (batch.buffer[UNCHANGED_POSITION:],),
        batch.size_bytes,
        batch.attributes,
        batch.last_offset_delta,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.record_count,
    )
