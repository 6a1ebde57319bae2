"""What a leader checks before it appends a batch, in Kafka's order, and the bytes it then writes.

Kafka looks at every record of every batch. We look at the header, and inside only where the header cannot
tell, because a look inside costs more than all the rest:

=============================================  ==========================================================
one batch, magic 2, base offset 0, size, CRC   header
count, offsets, control flag, sequence         header (a client whose records are not what its header says
                                               spoils its own topic, and every consumer tells it so)
timestamp too far ahead (CreateTime)           header: the largest is in it; inside only to name the records
timestamp too old (before.max, if limited)     inside: the smallest is not in the header
LogAppendTime                                  header: flag and largest timestamp are stamped, CRC redone
key on a compacted topic                       inside
compression.type other than the producer's     inside: the records are packed anew
=============================================  ==========================================================

The bytes are never changed in place: what is written is a new head (offset and leader epoch, 17 bytes; with
the timestamp, 43) and the client's own tail.
Source: Kafka's ProduceRequest.validateRecords, UnifiedLog.analyzeAndValidateRecords, LogValidator.
"""

from __future__ import annotations

import struct

from crc32c import crc32c

from kafkalite.log.acceptance import UNCHANGED_POSITION, AcceptedBatch
from kafkalite.log.config import FOREVER, LogConfig
from kafkalite.log.errors import InvalidRecordsError, RecordError
from kafkalite.log.producer_state import AppendOrigin
from kafkalite.wire.compression import Compression, compress
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import (
    COMPRESSION_MASK,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    MIN_RECORD_BYTES,
    NO_TIMESTAMP,
    RecordBatch,
    iterate_records,
    pack_batch,
    records_data,
)

_MAGIC_AND_CRC = struct.Struct(">bI")
_STAMPED = struct.Struct(">hiqq")
_STAMPED_END = 43
_LENGTH = struct.Struct(">i")

_CODECS = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}


def validate(
    records: bytes | bytearray | memoryview,
    config: LogConfig,
    *,
    name: str,
    origin: AppendOrigin,
    now_ms: int,
) -> AcceptedBatch:
    """Check `records`, one batch, and rewrite it as the topic's configuration asks.

    Raises:
        KafkaError: INVALID_RECORD, CORRUPT_MESSAGE, MESSAGE_TOO_LARGE, INVALID_TIMESTAMP; as
            InvalidRecordsError where single records are at fault.
    """
    batch = only_batch(records)
    if origin is AppendOrigin.CLIENT and batch.base_offset:
        raise _invalid(
            f"The baseOffset of the record batch in the append to {name} should be 0, but it is "
            f"{batch.base_offset}"
        )
    _check_size(batch, config, name)
    if not batch.is_valid():
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE,
            f"Record is corrupt (stored crc = {batch.crc}) in topic partition {name}.",
        )
    if origin is AppendOrigin.CLIENT:
        _check_header(batch, name)
        if config.compact or config.message_timestamp_before_max_ms != FOREVER:
            _check_records(batch, config, name, now_ms)
        else:
            _check_largest_timestamp(batch, config, name, now_ms)
    if config.compression_type != "producer" and not batch.is_control:
        batch = _recompress(batch, config)
        _check_size(batch, config, name)
    if batch.size_bytes > config.segment_bytes:
        raise KafkaError(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"Message batch size is {batch.size_bytes} bytes in append to partition {name}, which "
            f"exceeds the maximum configured segment size of {config.segment_bytes}.",
        )
    return _stamp(batch, config, now_ms)


def only_batch(records: bytes | bytearray | memoryview) -> RecordBatch:
    """The one batch in `records`; what is cut short behind it is left out.

    Raises:
        KafkaError(INVALID_RECORD): none, several, or of an older format.
        KafkaError(CORRUPT_MESSAGE): a length or magic that cannot be.
    """
    size = len(records)
    if size <= MAGIC_POSITION:
        raise _invalid("Produce requests must have at least one record batch per partition")
    magic = records[MAGIC_POSITION]
    if magic > MAGIC:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")
    if magic < MAGIC:
        raise _invalid(
            "Produce requests are only allowed to contain record batches with magic version 2"
        )
    (length,) = _LENGTH.unpack_from(records, 8)
    if length < HEADER_BYTES - LOG_OVERHEAD:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE,
            f"Record size {length} is less than the minimum record overhead",
        )
    rest = size - LOG_OVERHEAD - length
    if rest < 0:
        raise _invalid("Produce requests must have at least one record batch per partition")
    if rest > LOG_OVERHEAD:
        (second,) = _LENGTH.unpack_from(records, size - rest + 8)
        if LOG_OVERHEAD + second <= rest:
            raise _invalid("Produce requests are only allowed to contain exactly one record batch")
    return RecordBatch(records)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)


def _check_size(batch: RecordBatch, config: LogConfig, name: str) -> None:
    if batch.size_bytes > config.max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The record batch size in the append to {name} is {batch.size_bytes} bytes which exceeds "
            f"the maximum configured value of {config.max_message_bytes}.",
        )


def _check_header(batch: RecordBatch, name: str) -> None:
    count = batch.record_count
    from_offsets = batch.last_offset_delta + 1
    if from_offsets <= 0:
        raise _invalid(
            f"Batch has an invalid offset range: [{batch.base_offset}, {batch.last_offset}] in topic "
            f"partition {name}"
        )
    if count <= 0:
        raise _invalid(
            f"Invalid reported count for record batch: {count} in topic partition {name}"
        )
    if count != from_offsets:
        raise _invalid(
            f"Inconsistent batch offset range [{batch.base_offset}, {batch.last_offset}] and count of "
            f"records {count} in topic partition {name}"
        )
    if batch.is_control:
        raise _invalid(
            f"Clients are not allowed to write control records in topic partition {name}"
        )
    if batch.has_producer_id and batch.base_sequence < 0:
        raise _invalid(
            f"Invalid sequence number {batch.base_sequence} in record batch with producerId "
            f"{batch.producer_id} in topic partition {name}"
        )
    codec = batch.attributes & COMPRESSION_MASK
    if codec > Compression.ZSTD:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Unknown compression type id: {codec}")
    if not codec and count * MIN_RECORD_BYTES > batch.size_bytes - HEADER_BYTES:
        raise _invalid("Incorrect declared batch size, premature EOF reached")


def _check_largest_timestamp(batch: RecordBatch, config: LogConfig, name: str, now_ms: int) -> None:
    """The header has the largest timestamp; only when that is out of range the records are looked at."""
    stamped = batch.attributes & LOG_APPEND_TIME_FLAG
    if config.log_append_time:
        if stamped:
            _check_records(batch, config, name, now_ms)
    elif batch.max_timestamp > now_ms + config.message_timestamp_after_max_ms or stamped:
        _check_records(batch, config, name, now_ms)


def _check_records(batch: RecordBatch, config: LogConfig, name: str, now_ms: int) -> None:
    errors: list[RecordError] = []
    code = ErrorCode.INVALID_RECORD
    earliest = now_ms - config.message_timestamp_before_max_ms
    latest = now_ms + config.message_timestamp_after_max_ms
    stamped = bool(batch.attributes & LOG_APPEND_TIME_FLAG)
    for i, record in enumerate(iterate_records(batch)):
        if config.compact and record.key is None:
            errors.append(
                RecordError(
                    i,
                    "Compacted topic cannot accept message without key in topic partition " + name,
                )
            )
        elif not config.log_append_time and record.timestamp != NO_TIMESTAMP:
            if not earliest <= record.timestamp <= latest:
                code = ErrorCode.INVALID_TIMESTAMP
                errors.append(
                    RecordError(
                        i,
                        f"Timestamp {record.timestamp} of message with offset {record.offset} is out of "
                        f"range. The timestamp should be within [{earliest}, {latest}]",
                    )
                )
        elif stamped:
            code = ErrorCode.INVALID_TIMESTAMP
            errors.append(
                RecordError(
                    i,
                    f"Invalid timestamp type in message {i}. Producer should not set timestamp type to "
                    "LogAppendTime.",
                )
            )
    if errors:
        raise InvalidRecordsError(code, _summary(code, errors), tuple(errors))


def _summary(code: ErrorCode, errors: list[RecordError]) -> str:
    if code is ErrorCode.INVALID_TIMESTAMP:
        return "One or more records have been rejected due to invalid timestamp"
    shown = ", ".join(
        f"RecordError(batchIndex={error.batch_index}, message='{error.message}')"
        for error in errors[:3]
    )
    return (
        f"One or more records have been rejected due to {len(errors)} record errors in total, and only "
        f"showing the first three errors at most: [{shown}]"
    )


def _recompress(batch: RecordBatch, config: LogConfig) -> RecordBatch:
    """The batch with the topic's codec. Deltas, and so the records' bytes, stay as they are."""
    codec = _CODECS[config.compression_type]
    if codec is batch.compression:
        return batch
    for _ in iterate_records(batch):  # what is packed anew should be sound
        continue
    data = compress(codec, records_data(batch), _level(codec, config))
    return RecordBatch(
        pack_batch(
            data,
            base_offset=batch.base_offset,
            last_offset_delta=batch.last_offset_delta,
            record_count=batch.record_count,
            base_timestamp=batch.base_timestamp,
            max_timestamp=batch.max_timestamp,
            attributes=batch.attributes & ~COMPRESSION_MASK | codec,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
        )
    )


def _level(codec: Compression, config: LogConfig) -> int | None:
    levels = {
        Compression.GZIP: config.compression_gzip_level,
        Compression.LZ4: config.compression_lz4_level,
        Compression.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)


def _stamp(batch: RecordBatch, config: LogConfig, now_ms: int) -> AcceptedBatch:
    """The batch with the flag and the timestamp that the topic asks for."""
    max_timestamp = batch.max_timestamp
    attributes = batch.attributes & ~LOG_APPEND_TIME_FLAG
    log_append_time_ms = NO_TIMESTAMP
    if config.log_append_time:
        attributes |= LOG_APPEND_TIME_FLAG
        max_timestamp = log_append_time_ms = now_ms
    if attributes == batch.attributes and max_timestamp == batch.max_timestamp:
        buffers: tuple[bytes | memoryview, ...] = (batch.buffer[UNCHANGED_POSITION:],)
    else:
        # Both are under the checksum.
        stamped = _STAMPED.pack(
            attributes, batch.last_offset_delta, batch.base_timestamp, max_timestamp
        )
        tail = batch.buffer[_STAMPED_END:]
        crc = crc32c(tail, crc32c(stamped))
        buffers = (_MAGIC_AND_CRC.pack(MAGIC, crc) + stamped, tail)
    return AcceptedBatch(
        buffers,
        batch.size_bytes,
        attributes,
        batch.last_offset_delta,
        max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.record_count,
        log_append_time_ms,
    )
