"""The check that lets a client's batch into a log as it came.

It looks at the batch's header once and walks over its records once. Nearly every batch passes. For
any other one validation.py gives the reason, or rewrites the batch.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from kafkalite.log.config import LogConfig
from kafkalite.log.record_walk import REFUSED, walk
from kafkalite.wire.compression import Compression, DecompressionError, decompress
from kafkalite.wire.record_batch import (
    ATTRIBUTES_POSITION,
    COMPRESSION_MASK,
    CONTROL_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    RecordBatch,
    increment_sequence,
)
from kafkalite.wire.stream_decompression import is_lz4_frame

# An append changes only the fields before the magic, which the checksum does not cover: offset,
# length, epoch.
UNCHANGED_POSITION = 16

# The header (wire/record_batch.py) without the leader epoch.
_unpack_header = Struct(">qi4xBIhiqqqhii").unpack_from
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
    """A client's batch that may be appended as it came; None if validation.py must look at it."""
    size = len(records)
    if not HEADER_BYTES <= size <= config.max_batch_bytes or not config.keeps_batches:
        return None
    (
        base_offset,
        length,
        magic,
        crc,
        attributes,
        last_offset_delta,
        base_timestamp,
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
        and 0 < count == last_offset_delta + 1
        and max_timestamp >= NO_TIMESTAMP
        and (producer_id <= NO_PRODUCER_ID or base_sequence >= 0)
        and crc == crc32c(view[ATTRIBUTES_POSITION:])
        and (data := _unpacked(attributes & COMPRESSION_MASK, view[HEADER_BYTES:])) is not None
        and walk(
            data,
            count,
            now_ms - config.message_timestamp_before_max_ms - base_timestamp,
            now_ms + config.message_timestamp_after_max_ms - base_timestamp,
            needs_keys=config.compact,
        )
        == max_timestamp - base_timestamp
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


def _unpacked(codec: int, data: memoryview) -> bytes | None:
    """The decompressed records; None if they are not as producers compress them."""
    if not codec:
        return bytes(data)
    if codec > Compression.ZSTD or (codec == Compression.LZ4 and not is_lz4_frame(data)):
        return None
    try:
        return decompress(Compression(codec), data)
    except DecompressionError:
        return None


def unpacked(batch: RecordBatch) -> bytes | None:
    """A batch's decompressed records; None if they are not as producers compress them."""
    return _unpacked(batch.attributes & COMPRESSION_MASK, batch.buffer[HEADER_BYTES:])


def largest_timestamp(
    batch: RecordBatch, config: LogConfig, now_ms: int, lowest: int
) -> int | None:
    """The largest timestamp of a batch's records, -1 if none has one; None if anything is odd.

    Timestamps below `lowest` are odd. So are those outside the topic's limits, unless the topic
    stamps its records.
    """
    if batch.attributes & LOG_APPEND_TIME_FLAG or batch.record_count <= 0:
        return None
    data = unpacked(batch)
    if data is None:
        return None
    highest = 2**63 - 1
    if not config.log_append_time:
        lowest = max(lowest, now_ms - config.message_timestamp_before_max_ms)
        highest = now_ms + config.message_timestamp_after_max_ms
    base = batch.base_timestamp
    largest = walk(
        data, batch.record_count, lowest - base, highest - base, needs_keys=config.compact
    )
    return None if largest == REFUSED else max(base + largest, NO_TIMESTAMP)


def as_accepted(batch: RecordBatch) -> AcceptedBatch:
    """A batch that a leader accepted before, for a follower's append."""
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
