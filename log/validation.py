"""The leader refuses a batch with Kafka's error, or stamps it as its topic asks.

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
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkalite.log.acceptance import largest_timestamp
from kafkalite.log.accepted_batch import AcceptedBatch
from kafkalite.log.append_info import AppendOrigin
from kafkalite.log.config import LogConfig
from kafkalite.log.errors import InvalidRecordsError, RecordError
from kafkalite.log.rewriting import as_int64, read, rewritten, timestamp_of, unexpected
from kafkalite.wire.checksum import crc32c
from kafkalite.wire.compression import Compression, copied
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import (
    COMPRESSION_MASK,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    NO_TIMESTAMP,
    RecordBatch,
)
from kafkalite.wire.record_format import invalid_record

if TYPE_CHECKING:
    from kafkalite.log.record_reader import ReadRecord

_STAMPED: Final = struct.Struct(">hiqq")
_STAMPED_END: Final = 43
_LENGTH: Final = struct.Struct(">i")
# The attributes' bits that have a meaning.
_KNOWN_ATTRIBUTES: Final = 0x7F

# Apache Kafka tells of every record that is at fault, and its memory is the only limit.
_MOST_RECORD_ERRORS: Final = 100_000

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
        raise invalid_record(
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
    is_as_usual = not is_client
    if is_client:
        _check_header(batch, name)
        # MemoryRecordsBuilder takes no negative timestamp but -1.
        smallest = NO_TIMESTAMP if is_rewritten else -(2**63)
        largest = largest_timestamp(batch, config, now_ms, smallest)
        is_as_usual = largest is not None
        if largest is None:
            seen = _checked_records(batch, config, name, now_ms, not is_rewritten)
            largest = max(NO_TIMESTAMP, seen.largest_timestamp)
            if seen.smallest_timestamp < smallest:
                raise unexpected("Invalid negative timestamp")
            if codec and not is_rewritten and not seen.is_consecutive:
                raise unexpected("key is skipped in PartialDefaultRecord")
        max_timestamp = largest
    if is_rewritten:
        batch = rewritten(batch, target, config, is_as_usual=is_as_usual)
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
        raise invalid_record("Produce requests must have at least one record batch per partition")
    magic = records[MAGIC_POSITION]
    if magic > MAGIC:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")
    if magic < MAGIC:
        raise invalid_record(
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
        raise invalid_record("Produce requests must have at least one record batch per partition")
    if rest > LOG_OVERHEAD:
        (second,) = _LENGTH.unpack_from(records, size - rest + 8)
        if LOG_OVERHEAD + second <= rest:
            raise invalid_record(
                "Produce requests are only allowed to contain exactly one record batch"
            )
    return RecordBatch(records)


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
        raise invalid_record(
            f"Batch has an invalid offset range: [{batch.base_offset}, {batch.last_offset}] in "
            f"topic partition {name}"
        )
    if count <= 0:
        raise invalid_record(
            f"Invalid reported count for record batch: {count} in topic partition {name}"
        )
    if count != from_offsets:
        raise invalid_record(
            f"Inconsistent batch offset range [{batch.base_offset}, {batch.last_offset}] and count "
            f"of records {count} in topic partition {name}"
        )
    if batch.is_control:
        raise invalid_record(
            f"Clients are not allowed to write control records in topic partition {name}"
        )
    if batch.has_producer_id and batch.base_sequence < 0:
        raise invalid_record(
            f"Invalid sequence number {batch.base_sequence} in record batch with producerId "
            f"{batch.producer_id} in topic partition {name}"
        )


def _codec(batch: RecordBatch) -> Compression:
    """The batch's codec. Kafka has no error code for one that it does not know."""
    number = batch.attributes & COMPRESSION_MASK
    if number > Compression.ZSTD:
        raise unexpected(f"Unknown compression type id: {number}")
    return Compression(number)


class _Seen(NamedTuple):
    """A summary of a batch's records, which are not kept: they may be very many."""

    smallest_timestamp: int
    largest_timestamp: int
    is_consecutive: bool


def _checked_records(
    batch: RecordBatch, config: LogConfig, name: str, now_ms: int, is_kept: bool
) -> _Seen:
    """The records of a batch, read one by one. Raises KafkaError, InvalidRecordsError."""
    smallest, largest = 2**63 - 1, -(2**63)
    is_consecutive = True
    errors: list[RecordError] = []
    error_count = 0
    code = ErrorCode.INVALID_RECORD
    for i, record in enumerate(read(batch, skips_contents=is_kept)):
        timestamp = timestamp_of(batch, record)
        smallest, largest = min(smallest, timestamp), max(largest, timestamp)
        is_consecutive = is_consecutive and record.offset_delta == i
        if config.compact and record.key_size < 0:
            text = "Compacted topic cannot accept message without key in topic partition " + name
        elif not config.log_append_time and timestamp != NO_TIMESTAMP:
            age_ms = as_int64(now_ms - timestamp)
            if (
                age_ms <= config.message_timestamp_before_max_ms
                and as_int64(-age_ms) <= config.message_timestamp_after_max_ms
            ):
                continue
            code = ErrorCode.INVALID_TIMESTAMP
            text = _out_of_range(record, timestamp, config, now_ms)
        elif batch.attributes & LOG_APPEND_TIME_FLAG:
            code = ErrorCode.INVALID_TIMESTAMP
            text = _stamped_by_client(record, timestamp)
        else:
            continue
        error_count += 1
        if error_count <= _MOST_RECORD_ERRORS:
            errors.append(RecordError(i, text))
    if errors:
        raise InvalidRecordsError(code, _summary(code, errors, error_count), tuple(errors))
    return _Seen(smallest, largest, is_consecutive)


def _out_of_range(record: ReadRecord, timestamp: int, config: LogConfig, now_ms: int) -> str:
    earliest = as_int64(now_ms - config.message_timestamp_before_max_ms)
    latest = as_int64(now_ms + config.message_timestamp_after_max_ms)
    return (
        f"Timestamp {timestamp} of message with offset {record.offset_delta} is out of range. The "
        f"timestamp should be within [{earliest}, {latest}]"
    )


def _stamped_by_client(record: ReadRecord, timestamp: int) -> str:
    kind = "PartialDefaultRecord" if record.is_partial else "DefaultRecord"
    return (
        f"Invalid timestamp type in message {kind}(offset={record.offset_delta}, "
        f"timestamp={timestamp}, key={record.key_size} bytes, value={record.value_size} bytes). "
        "Producer should not set timestamp type to LogAppendTime."
    )


def _summary(code: ErrorCode, errors: list[RecordError], error_count: int) -> str:
    if code is ErrorCode.INVALID_TIMESTAMP:
        return "One or more records have been rejected due to invalid timestamp"
    shown = ", ".join(
        f"RecordError(batchIndex={error.batch_index}, message='{error.message}')"
        for error in errors[:3]
    )
    return (
        f"One or more records have been rejected due to {error_count} record errors in total, and "
        f"only showing the first three errors at most: [{shown}]"
    )


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
        under_crc = b"".join((stamped, copied(batch.buffer[_STAMPED_END:])))
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
