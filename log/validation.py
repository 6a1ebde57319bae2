"""The leader refuses a batch with Kafka's error, or rewrites it as its topic asks.

The batches are those that acceptance.py does not take. The order of the checks is Kafka's: base
offset, size, checksum, codec, the header's counts, then every record. Errors in single records
(KIP-467) are raised together after all records were read. A record that cannot be read ends the
check at once.

The client's bytes are never changed in place. The log writes a new head and the client's own tail,
or a new batch if the topic asks for another codec. Source: Kafka's ProduceRequest.validateRecords,
UnifiedLog.analyzeAndValidateRecords, LogValidator.
"""

from __future__ import annotations

import struct
from typing import Final

from kafkalite.log.acceptance import (
    largest_timestamp,
    unpacked,
)
from kafkalite.log.accepted_batch import AcceptedBatch
from kafkalite.log.config import LogConfig
from kafkalite.log.errors import InvalidRecordsError, RecordError
from kafkalite.log.producer_state import AppendOrigin
from kafkalite.log.record_reader import ReadRecord, read_records
from kafkalite.wire.checksum import crc32c
from kafkalite.wire.compression import Compression, compress
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import (
    COMPRESSION_MASK,
    CONTROL_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    Record,
    RecordBatch,
    build_batch,
    pack_batch,
)
from kafkalite.wire.record_format import read_varint

_STAMPED: Final = struct.Struct(">hiqq")
_STAMPED_END: Final = 43
_LENGTH: Final = struct.Struct(">i")
# The attributes' bits that have a meaning.
_KNOWN_ATTRIBUTES: Final = 0x7F

_CODECS: Final = {
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
    is_client = origin is AppendOrigin.CLIENT
    if is_client and batch.base_offset:
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
    codec = _codec(batch)
    target = _CODECS.get(config.compression_type, codec)
    is_rewritten = target is not codec and not (batch.is_control and not codec)
    max_timestamp = batch.max_timestamp
    records_read: list[ReadRecord] | None = None
    if is_client:
        _check_header(batch, name)
        # MemoryRecordsBuilder takes no negative timestamp but -1.
        smallest = NO_TIMESTAMP if is_rewritten else -(2**63)
        largest = largest_timestamp(batch, config, now_ms, smallest)
        if largest is None:
            records_read = _checked_records(batch, config, name, now_ms, not is_rewritten)
            timestamps = [_timestamp(batch, each) for each in records_read]
            largest = max(NO_TIMESTAMP, *timestamps)
            if min(timestamps) < smallest:
                raise _unexpected("Invalid negative timestamp")
            if codec and not is_rewritten and not _is_consecutive(records_read):
                raise _unexpected("key is skipped in PartialDefaultRecord")
        max_timestamp = largest
    if is_rewritten:
        batch = _rewritten(batch, target, config, records_read)
        _check_size(batch, config, name)
    if batch.size_bytes > config.segment_bytes:
        raise KafkaError(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"Message batch size is {batch.size_bytes} bytes in append to partition {name}, which "
            f"exceeds the maximum configured segment size of {config.segment_bytes}.",
        )
    return _stamp(batch, config, max_timestamp, now_ms)


def only_batch(records: bytes | bytearray | memoryview) -> RecordBatch:
    """The one batch in `records`; an incomplete second one is left out.

    Raises:
        KafkaError(INVALID_RECORD): there is none, there are several, or it has an older format.
        KafkaError(CORRUPT_MESSAGE): its length or magic is impossible.
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


def _unexpected(message: str) -> KafkaError:
    """An error for which Kafka has no code."""
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, message)


def _check_size(batch: RecordBatch, config: LogConfig, name: str) -> None:
    if batch.size_bytes > config.max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The record batch size in the append to {name} is {batch.size_bytes} bytes which "
            f"exceeds the maximum configured value of {config.max_message_bytes}.",
        )


def _check_header(batch: RecordBatch, name: str) -> None:
    count = batch.record_count
    from_offsets = batch.last_offset_delta + 1
    if from_offsets <= 0:
        raise _invalid(
            f"Batch has an invalid offset range: [{batch.base_offset}, {batch.last_offset}] in "
            f"topic partition {name}"
        )
    if count <= 0:
        raise _invalid(
            f"Invalid reported count for record batch: {count} in topic partition {name}"
        )
    if count != from_offsets:
        raise _invalid(
            f"Inconsistent batch offset range [{batch.base_offset}, {batch.last_offset}] and count "
            f"of records {count} in topic partition {name}"
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


def _codec(batch: RecordBatch) -> Compression:
    """The batch's codec. Kafka has no error code for one that it does not know."""
    number = batch.attributes & COMPRESSION_MASK
    if number > Compression.ZSTD:
        raise _unexpected(f"Unknown compression type id: {number}")
    return Compression(number)


def _timestamp(batch: RecordBatch, record: ReadRecord) -> int:
    """A record's timestamp: the batch's if the client claims that the broker stamped it."""
    if batch.attributes & LOG_APPEND_TIME_FLAG:
        return batch.max_timestamp
    return _as_int64(batch.base_timestamp + record.timestamp_delta)


def _as_int64(value: int) -> int:
    """The value as Java's long arithmetic has it: it wraps."""
    return (value + 2**63) % 2**64 - 2**63


def _is_consecutive(records: list[ReadRecord]) -> bool:
    return all(record.offset_delta == i for i, record in enumerate(records))


def _checked_records(
    batch: RecordBatch, config: LogConfig, name: str, now_ms: int, is_kept: bool
) -> list[ReadRecord]:
    """The records of a batch, read one by one. Raises KafkaError, InvalidRecordsError."""
    records: list[ReadRecord] = []
    errors: list[RecordError] = []
    code = ErrorCode.INVALID_RECORD
    earliest = _as_int64(now_ms - config.message_timestamp_before_max_ms)
    latest = _as_int64(now_ms + config.message_timestamp_after_max_ms)
    is_stamped = bool(batch.attributes & LOG_APPEND_TIME_FLAG)
    for i, record in enumerate(read_records(batch, skips_contents=is_kept)):
        records.append(record)
        timestamp = _timestamp(batch, record)
        if config.compact and record.key_size < 0:
            errors.append(
                RecordError(
                    i,
                    "Compacted topic cannot accept message without key in topic partition " + name,
                )
            )
        elif not config.log_append_time and timestamp != NO_TIMESTAMP:
            age_ms = now_ms - timestamp
            if (
                age_ms > config.message_timestamp_before_max_ms
                or -age_ms > config.message_timestamp_after_max_ms
            ):
                code = ErrorCode.INVALID_TIMESTAMP
                errors.append(
                    RecordError(
                        i,
                        f"Timestamp {timestamp} of message with offset {record.offset_delta} is "
                        f"out of range. The timestamp should be within [{earliest}, {latest}]",
                    )
                )
        elif is_stamped:
            code = ErrorCode.INVALID_TIMESTAMP
            kind = "PartialDefaultRecord" if record.is_partial else "DefaultRecord"
            errors.append(
                RecordError(
                    i,
                    f"Invalid timestamp type in message {kind}(offset={record.offset_delta}, "
                    f"timestamp={timestamp}, key={record.key_size} bytes, "
                    f"value={record.value_size} bytes). Producer should not set timestamp type to "
                    "LogAppendTime.",
                )
            )
    if errors:
        raise InvalidRecordsError(code, _summary(code, errors), tuple(errors))
    return records


def _summary(code: ErrorCode, errors: list[RecordError]) -> str:
    if code is ErrorCode.INVALID_TIMESTAMP:
        return "One or more records have been rejected due to invalid timestamp"
    shown = ", ".join(
        f"RecordError(batchIndex={error.batch_index}, message='{error.message}')"
        for error in errors[:3]
    )
    return (
        f"One or more records have been rejected due to {len(errors)} record errors in total, and "
        f"only showing the first three errors at most: [{shown}]"
    )


def _rewritten(
    batch: RecordBatch, codec: Compression, config: LogConfig, records: list[ReadRecord] | None
) -> RecordBatch:
    """The batch with another codec, as Kafka's MemoryRecordsBuilder makes it.

    Records that are numbered from 0 and timed from the first one keep their bytes.
    """
    level = _level(codec, config)
    if records is None:
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
        records = list(read_records(batch, skips_contents=False))
    return RecordBatch(
        build_batch(
            [
                Record(0, _timestamp(batch, each), each.key, each.value, each.headers)
                for each in records
            ],
            compression=codec,
            compression_level=level,
            producer_id=batch.producer_id,
            producer_epoch=batch.producer_epoch,
            base_sequence=batch.base_sequence,
            is_transactional=batch.is_transactional,
            is_control=batch.is_control,
        )
    )


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


def _stamp(batch: RecordBatch, config: LogConfig, max_timestamp: int, now_ms: int) -> AcceptedBatch:
    """The batch with the timestamp type that its topic asks for, and its largest timestamp."""
    attributes = batch.attributes
    wanted = 0
    log_append_time_ms = NO_TIMESTAMP
    if config.log_append_time:
        wanted = LOG_APPEND_TIME_FLAG
        max_timestamp = log_append_time_ms = now_ms
    if attributes & LOG_APPEND_TIME_FLAG == wanted and max_timestamp == batch.max_timestamp:
        crc = batch.crc
        under_crc: bytes | memoryview = batch.under_crc
    else:
        # Both are under the checksum.
        attributes = attributes & _KNOWN_ATTRIBUTES & ~LOG_APPEND_TIME_FLAG | wanted
        stamped = _STAMPED.pack(
            attributes, batch.last_offset_delta, batch.base_timestamp, max_timestamp
        )
        under_crc = stamped + batch.buffer[_STAMPED_END:]
        crc = crc32c(under_crc)
    return AcceptedBatch(
        crc,
        under_crc,
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
