"""Decompression of damaged records, as far as they go, like Apache Kafka's broker.

Kafka decompresses record by record and stops at the first fault it meets. So a bad record before
the damage is another error than the damage itself. This module tells which of the two it is, once
`decompress` has failed. Source: Kafka's Lz4BlockInputStream, Java's GZIPInputStream and
snappy-java's SnappyInputStream.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final, NamedTuple

from kafkalite.wire.compression import (
    LZ4_BLOCK,
    LZ4_UNCOMPRESSED,
    MAX_DECOMPRESSED_BYTES,
    XERIAL_MAGIC,
    Compression,
    DecompressionError,
    UnfoldsTooLarge,
    decompress,
)

_XERIAL_HEADER_BYTES: Final = 16
_INT32: Final = struct.Struct(">i")

_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"
_LZ4_BLOCK_CHECKSUM, _LZ4_CONTENT_SIZE, _LZ4_CONTENT_CHECKSUM = 0x10, 0x08, 0x04

_GZIP_MAGIC: Final = b"\x1f\x8b\x08"
_GZIP_CHUNK_BYTES: Final = 512
# Java looks for another member only behind more bytes than these.
_GZIP_HEADER_BYTES: Final = 18

MOST_PARTS: Final = 1024
_LEAST_PART_BYTES: Final = 4


class Stream(NamedTuple):
    """The bytes that could be decompressed. `is_broken`: reading on is an error, not the end."""

    data: bytes
    is_broken: bool


def decompress_stream(
    codec: Compression, data: bytes, limit: int = MAX_DECOMPRESSED_BYTES
) -> Stream:
    """Decompress as far as `data` goes. Raises UnfoldsTooLarge: to more than `limit` bytes."""
    match codec:
        case Compression.NONE:
            return Stream(data, False)
        case Compression.GZIP:
            return _gzip(data, limit)
        case Compression.SNAPPY:
            return _snappy(data, limit)
        case Compression.LZ4:
            return _lz4(data, limit)
        case Compression.ZSTD:
            return _zstd(data, limit)


def has_many_parts(codec: Compression, data: memoryview) -> bool:
    """True if there may be more than MOST_PARTS gzip members, lz4 blocks or snappy blocks.

    Python looks at each, so that they take long, whatever they unfold to.
    """
    if len(data) <= MOST_PARTS * _LEAST_PART_BYTES:
        return False
    if codec is Compression.GZIP:
        return bytes(data).count(_GZIP_MAGIC) > MOST_PARTS
    if codec is Compression.SNAPPY and bytes(data[:8]) == XERIAL_MAGIC:
        position, after = 0, _after_snappy_block
    elif codec is Compression.LZ4:
        position, after = _lz4_header_bytes(data[4]), _after_lz4_block
    else:
        return False
    for _ in range(MOST_PARTS):
        if position + _INT32.size > len(data):
            return False
        position = after(data, position)
    return position < len(data)


def _after_snappy_block(data: memoryview, position: int) -> int:
    """The position after a block, or after a header; the end if it is neither."""
    size: int
    if bytes(data[position : position + len(XERIAL_MAGIC)]) == XERIAL_MAGIC:
        return position + _XERIAL_HEADER_BYTES
    (size,) = _INT32.unpack_from(data, position)
    return position + _INT32.size + size if size >= 0 else len(data)


def _after_lz4_block(data: memoryview, position: int) -> int:
    """The position after a block; the end if it is the mark of a frame's end."""
    size: int
    (size,) = LZ4_BLOCK.unpack_from(data, position)
    if not size:
        return len(data)
    checksum_bytes = 4 if data[4] & _LZ4_BLOCK_CHECKSUM else 0
    return position + LZ4_BLOCK.size + (size & ~LZ4_UNCOMPRESSED) + checksum_bytes


def _lz4_header_bytes(flags: int) -> int:
    return 15 if flags & _LZ4_CONTENT_SIZE else 7


def is_lz4_frame(data: bytes | memoryview) -> bool:
    """True if Kafka's reader takes a frame with this header: independent blocks, no dictionary."""
    return (
        len(data) > 5
        and bytes(data[:4]) == _LZ4_MAGIC
        and data[4] & 0xE3 == 0x60
        and data[5] & 0x8F == 0
        and data[5] >= 0x40
    )


def _gzip(data: bytes, limit: int) -> Stream:
    output = bytearray()
    position = 0
    while True:
        member = zlib.decompressobj(wbits=31)
        try:
            while not member.eof:
                if position >= len(data):
                    return Stream(bytes(output), True)
                chunk = data[position : position + _GZIP_CHUNK_BYTES]
                position += len(chunk)
                output += member.decompress(chunk, limit + 1 - len(output))
                _check(len(output), limit)
        except zlib.error:
            return Stream(bytes(output), True)
        position -= len(member.unused_data)
        is_at_end = len(data) - position <= _GZIP_HEADER_BYTES
        if is_at_end or not data.startswith(_GZIP_MAGIC, position):
            return Stream(bytes(output), False)


def _snappy(data: bytes, limit: int) -> Stream:
    if len(data) < _XERIAL_HEADER_BYTES or not data.startswith(XERIAL_MAGIC):
        return _whole(Compression.SNAPPY, data, limit)
    import cramjam

    output = bytearray()
    position = 0
    while position + 4 <= len(data):
        if data.startswith(XERIAL_MAGIC, position):  # of a stream behind another, too
            header = data[position : position + _XERIAL_HEADER_BYTES]
            if len(header) < _XERIAL_HEADER_BYTES or _INT32.unpack_from(header, 8)[0] < 1:
                return Stream(bytes(output), True)
            position += _XERIAL_HEADER_BYTES
            continue
        (size,) = _INT32.unpack_from(data, position)
        position += 4
        block = data[position : position + size] if size >= 0 else b""
        if size < 0 or len(block) < size:
            return Stream(bytes(output), True)
        try:
            _check(len(output) + cramjam.snappy.decompress_raw_len(block), limit)
            output += bytes(cramjam.snappy.decompress_raw(block))
        except cramjam.DecompressionError:
            return Stream(bytes(output), True)
        position += size
    return Stream(bytes(output), False)


def _lz4(data: bytes, limit: int) -> Stream:
    """One frame: neither the bytes after its end nor its checksum of the content are looked at."""
    if not is_lz4_frame(data):
        return Stream(b"", True)
    flags = data[4]
    position = _lz4_header_bytes(flags) - 1
    if len(data) <= position or data[position] != _xxh32(data[4:position]) >> 8 & 0xFF:
        return Stream(b"", True)
    position += 1
    # Each block as a frame of its own: without what may be wrong with the frame around it.
    has_checksum = flags & _LZ4_BLOCK_CHECKSUM
    descriptor = bytes((0x60 | has_checksum, data[5]))
    header = _LZ4_MAGIC + descriptor + bytes((_xxh32(descriptor) >> 8 & 0xFF,))
    output = bytearray()
    while position + 4 <= len(data):
        (size,) = LZ4_BLOCK.unpack_from(data, position)
        if not size:
            is_cut = flags & _LZ4_CONTENT_CHECKSUM and position + 8 > len(data)
            return Stream(bytes(output), bool(is_cut))
        end = position + 4 + (size & ~LZ4_UNCOMPRESSED) + (4 if has_checksum else 0)
        if end > len(data):
            break
        block = _whole(Compression.LZ4, header + data[position:end] + bytes(4), limit)
        if block.is_broken:
            break
        output += block.data
        _check(len(output), limit)
        position = end
    return Stream(bytes(output), True)


def _check(size: int, limit: int) -> None:
    if size > limit:
        raise UnfoldsTooLarge(f"unfolds to more than {limit} bytes")


def _zstd(data: bytes, limit: int) -> Stream:
    return _whole(Compression.ZSTD, data, limit) if data else Stream(b"", False)


def _whole(codec: Compression, data: bytes, limit: int) -> Stream:
    try:
        return Stream(decompress(codec, data, limit), False)
    except UnfoldsTooLarge:
        raise
    except DecompressionError:
        return Stream(b"", True)


def _xxh32(data: bytes) -> int:
    """xxHash, 32 bits, of fewer than 16 bytes."""
    mask = 0xFFFFFFFF
    value = (374761393 + len(data)) & mask
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        value = (value + int.from_bytes(data[i : i + 4], "little") * 3266489917) & mask
        value = ((value << 17 | value >> 15) & mask) * 668265263 & mask
    for byte in data[whole:]:
        value = (value + byte * 374761393) & mask
        value = ((value << 11 | value >> 21) & mask) * 2654435761 & mask
    value = (value ^ value >> 15) * 2246822519 & mask
    value = (value ^ value >> 13) * 3266489917 & mask
    return value ^ value >> 16
