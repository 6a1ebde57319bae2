"""The check that lets a client's batch into a log as it came.

It looks at the batch's header once and walks over its records once. Nearly every batch passes. For
any other one validation.py gives the reason, or rewrites the batch.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, TypeAlias

from kafkalite.log.accepted_batch import PIECE_BYTES, AcceptedBatch
from kafkalite.log.config import LogConfig
from kafkalite.log.errors import TakesLong
from kafkalite.log.record_walk import LEAST, MOST, REFUSED, walk
from kafkalite.wire import checksum
from kafkalite.wire.compression import (
    MAX_DECOMPRESSED_BYTES,
    Compression,
    DecompressionError,
    Scratch,
    UnfoldsTooLarge,
    copied,
    decompress,
    decompress_into,
    large,
)
from kafkalite.wire.record_batch import (
    ATTRIBUTES_POSITION,
    COMPRESSION_MASK,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    RecordBatch,
)
from kafkalite.wire.stream_decompression import has_many_parts, is_lz4_frame

# The records of a batch that is not compressed, in the bytes that the checksum covers.
_RECORDS_UNDER_CRC: Final = HEADER_BYTES - ATTRIBUTES_POSITION

# A check is brief if it looks at no more than this. Producers' batches are as large as this by
# default, or smaller.
MOST_BRIEF_BYTES: Final = 1 << 20
_MOST_BRIEF_RECORDS: Final = 10_000
# The broker may compress a topic's batches. At high levels zstd makes large tables first: 0.4 s at
# the highest, for any batch.
_MOST_BRIEF_ZSTD_LEVEL: Final = 6
# A batch that is refused is read field by field, record by record.
_MOST_BRIEF_REFUSED: Final = 1000

# The header (wire/record_batch.py) without the leader epoch.
_unpack_header: Final = Struct(">qi4xBIhiqqqhii").unpack_from
# Typed: its numbers are no objects in the compiled build.
_Header: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int, int, int]
# A larger difference of timestamps is validation.py's. It is a machine word in the compiled build,
# and the most negative one is REFUSED.
_MOST_DELTA: Final = 2**62 - 1
# Found without a look into a table of names, there.
_crc32c: Final = checksum.crc32c
_walk: Final = walk
_CODEC_AND_TRANSACTIONAL: Final = COMPRESSION_MASK | TRANSACTIONAL_FLAG


def accept(
    records: bytes | bytearray | memoryview, config: LogConfig, now_ms: int, briefly: bool = False
) -> AcceptedBatch | None:
    """A client's batch that may be appended as it came; None if validation.py must look at it.

    `briefly`: raises TakesLong where it, or validation.py, would take long.
    """
    accepted = _accept(records, config, now_ms, briefly)
    if accepted is None and briefly and len(records) >= HEADER_BYTES:
        if config.compression_zstd_level > _MOST_BRIEF_ZSTD_LEVEL:
            raise TakesLong
        _refuse_briefly(RecordBatch(records))
    return accepted


def _refuse_briefly(batch: RecordBatch) -> None:
    """Raises TakesLong for a batch with many records or bytes, or that unfolds to many."""
    if batch.record_count > _MOST_BRIEF_REFUSED or len(batch.buffer) > MOST_BRIEF_BYTES:
        raise TakesLong
    codec = batch.attributes & COMPRESSION_MASK
    if codec:
        data = batch.buffer[HEADER_BYTES:]
        if codec <= Compression.ZSTD and has_many_parts(Compression(codec), data):
            raise TakesLong
        _decompressed(codec, data, MOST_BRIEF_BYTES)


def _accept(
    records: bytes | bytearray | memoryview, config: LogConfig, now_ms: int, briefly: bool
) -> AcceptedBatch | None:
    size = len(records)
    if not HEADER_BYTES <= size <= config.max_batch_bytes or not config.keeps_batches:
        return None
    header: _Header = _unpack_header(records)
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
    ) = header
    body = records[ATTRIBUTES_POSITION:]
    if briefly and (count > _MOST_BRIEF_RECORDS or size > PIECE_BYTES):
        raise TakesLong
    most_bytes = MOST_BRIEF_BYTES if briefly else MAX_DECOMPRESSED_BYTES
    codec = attributes & COMPRESSION_MASK
    plain = None if codec else _plain(body)
    under_crc = memoryview(body) if plain is None else plain
    # Negative timestamps, which no producer writes, are validation.py's.
    lowest = max(now_ms - config.max_age_ms, NO_TIMESTAMP) - base_timestamp
    largest = max_timestamp - base_timestamp
    if not (
        base_offset == 0
        and magic == MAGIC
        and length + LOG_OVERHEAD == size
        and attributes & _CODEC_AND_TRANSACTIONAL == attributes
        and 0 < count == last_offset_delta + 1
        and NO_TIMESTAMP <= max_timestamp <= now_ms + config.message_timestamp_after_max_ms
        and lowest <= largest <= _MOST_DELTA
        and largest >= -_MOST_DELTA
        and (producer_id <= NO_PRODUCER_ID or base_sequence >= 0)
        and crc == _crc32c(under_crc)
        and (
            _walk_compressed(codec, body, most_bytes, count, lowest, largest, config.compact)
            if plain is None
            else _walk(
                plain,
                _RECORDS_UNDER_CRC,
                size - ATTRIBUTES_POSITION,
                count,
                lowest,
                largest,
                config.compact,
            )
        )
        == largest
    ):
        return None
    return AcceptedBatch(
        crc,
        under_crc,
        size,
        attributes,
        last_offset_delta,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )


def _plain(body: bytes | bytearray | memoryview) -> bytes | memoryview:
    """Records to walk over, which is quickest in bytes. To copy many would keep others waiting."""
    if isinstance(body, bytes):
        return body
    return bytes(body) if len(body) <= PIECE_BYTES else memoryview(body)


def _walk_compressed(
    codec: int,
    under_crc: bytes | bytearray | memoryview,
    most_bytes: int,
    count: int,
    lowest: int,
    highest: int,
    needs_keys: bool,
) -> int:
    """Walk over compressed records. Raises TakesLong as `_decompressed` does."""
    data = memoryview(under_crc)[_RECORDS_UNDER_CRC:]
    if codec > Compression.ZSTD:
        return REFUSED
    if most_bytes == MOST_BRIEF_BYTES and has_many_parts(Compression(codec), data):
        raise TakesLong
    if not _is_known(codec, data):
        return REFUSED
    with Scratch() as buffer:
        try:
            size = decompress_into(Compression(codec), data, buffer)
        except DecompressionError:
            return REFUSED
        if size >= 0:
            return _walk(buffer, 0, size, count, lowest, highest, needs_keys)
    try:
        with large(Compression(codec), data, most_bytes) as records:
            return _walk(records, 0, len(records), count, lowest, highest, needs_keys)
    except UnfoldsTooLarge:
        if most_bytes == MOST_BRIEF_BYTES:
            raise TakesLong from None
        return REFUSED
    except DecompressionError:
        return REFUSED


def _is_known(codec: int, data: memoryview) -> bool:
    """True unless producers do not compress like that."""
    return codec <= Compression.ZSTD and (codec != Compression.LZ4 or is_lz4_frame(data))


def _decompressed(
    codec: int, data: memoryview, most_bytes: int = MAX_DECOMPRESSED_BYTES
) -> bytes | None:
    """The decompressed records; None if they are not as producers compress them.

    Raises TakesLong where they are more than is brief, and `most_bytes` allows no more.
    """
    if not _is_known(codec, data):
        return None
    try:
        return decompress(Compression(codec), data, most_bytes)
    except UnfoldsTooLarge:
        if most_bytes == MOST_BRIEF_BYTES:
            raise TakesLong from None
        return None
    except DecompressionError:
        return None


def unpacked(batch: RecordBatch) -> bytes | None:
    """A batch's decompressed records; None if they are not as producers compress them."""
    data = batch.buffer[HEADER_BYTES:]
    codec = batch.attributes & COMPRESSION_MASK
    return _decompressed(codec, data) if codec else copied(data)


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
        highest = min(highest, now_ms + config.message_timestamp_after_max_ms)
    base = batch.base_timestamp
    least, most = max(lowest - base, LEAST), min(highest - base, MOST)
    largest = walk(data, 0, len(data), batch.record_count, least, most, config.compact)
    return None if largest == REFUSED else max(base + largest, NO_TIMESTAMP)
