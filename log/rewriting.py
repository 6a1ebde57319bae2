"""A client's batch is written anew, with the codec that its topic asks for.

Source: Kafka's LogValidator, MemoryRecordsBuilder.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafkalite.log.acceptance import unpacked
from kafkalite.log.config import LogConfig
from kafkalite.wire.compression import Compression, compress
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import (
    CONTROL_FLAG,
    LOG_APPEND_TIME_FLAG,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TRANSACTIONAL_FLAG,
    Record,
    RecordBatch,
    build_batch,
    pack_batch,
)
from kafkalite.wire.record_format import read_varint

if TYPE_CHECKING:
    from kafkalite.log.record_reader import ReadRecord


def rewritten(
    batch: RecordBatch, codec: Compression, config: LogConfig, *, is_as_usual: bool
) -> RecordBatch:
    """The batch with another codec, as Kafka's MemoryRecordsBuilder makes it.

    Records that are numbered from 0 and timed from the first one keep their bytes, where the batch
    `is_as_usual`. Raises KafkaError: UNKNOWN_SERVER_ERROR.
    """
    _check_producer(batch)
    level = _level(codec, config)
    if is_as_usual:
        data = unpacked(batch)
        if data is not None and _begins_at_base_timestamp(data):
            attributes = batch.attributes & (TRANSACTIONAL_FLAG | CONTROL_FLAG)
            return RecordBatch(
                pack_batch(
                    compress(codec, data, level),
                    base_offset=0,
                    last_offset_delta=batch.last_offset_delta,
                    record_count=batch.record_count,
                    base_timestamp=batch.base_timestamp,
                    max_timestamp=batch.max_timestamp,
                    attributes=attributes | codec,
                    producer_id=batch.producer_id,
                    producer_epoch=batch.producer_epoch,
                    base_sequence=batch.base_sequence,
                )
            )
    return RecordBatch(
        build_batch(
            _as_they_are(batch),
            compression=codec,
            compression_level=level,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            is_transactional=batch.is_transactional,
            is_control=batch.is_control,
        )
    )


def _as_they_are(batch: RecordBatch) -> Iterator[Record]:
    for each in read(batch, skips_contents=False):
        yield Record(0, timestamp_of(batch, each), each.key, each.value, each.headers)


def _begins_at_base_timestamp(data: bytes) -> bool:
    _, position = read_varint(data, 0)
    return data[position + 1] == 0


def _level(codec: Compression, config: LogConfig) -> int | None:
    levels = {
        Compression.GZIP: config.compression_gzip_level,
        Compression.LZ4: config.compression_lz4_level,
        Compression.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)


def _check_producer(batch: RecordBatch) -> None:
    """Check what a batch needs to be written anew (MemoryRecordsBuilder.validateProducerState)."""
    is_odd = batch.is_transactional
    if batch.producer_id != NO_PRODUCER_ID:
        has_sequence = batch.base_sequence >= 0 or batch.is_control
        is_odd = batch.producer_epoch == NO_PRODUCER_EPOCH or not has_sequence
    if is_odd:
        raise unexpected("A producer without an id, an epoch or a sequence")


def timestamp_of(batch: RecordBatch, record: ReadRecord) -> int:
    """A record's timestamp: the batch's if the client claims that the broker stamped it."""
    if batch.attributes & LOG_APPEND_TIME_FLAG:
        return batch.max_timestamp
    return as_int64(batch.base_timestamp + record.timestamp_delta)


def as_int64(value: int) -> int:
    """The value as Java's long arithmetic has it: it wraps."""
    return (value + 2**63) % 2**64 - 2**63


def read(batch: RecordBatch, *, skips_contents: bool) -> Iterator[ReadRecord]:
    """The records of a batch. Raises KafkaError (INVALID_RECORD) at the first that is damaged."""
    from kafkalite.log.record_reader import read_records  # with the first batch that is odd

    return read_records(batch, skips_contents=skips_contents)


def unexpected(message: str) -> KafkaError:
    """An error for which Kafka has no code."""
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message)
