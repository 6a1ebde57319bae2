"""Decompression of damaged records, as far as they go, like Apache Kafka's broker.

Kafka decompresses record by record and stops at the first fault it meets. So a bad record before
the damage is another error than the damage itself. This module tells which of the two it is, once
`decompress` has failed. Source: Kafka's Lz4BlockInputStream, Java's GZIPInputStream and
snappy-java's SnappyInputStream, zstd-jni's ZstdInputStreamNoFinalizer.
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
_GZIP_TRAILER: Final = struct.Struct("<II")
_GZIP_EXTRA, _GZIP_NAME, _GZIP_COMMENT, _GZIP_CHECKSUM = 4, 8, 16, 2
_LEAST_GZIP_HEADER: Final = 10
# Kafka reads compressed bytes in such pieces, and asks for so many unfolded bytes at once.
_GZIP_CHUNK_BYTES: Final = 8 << 10
_READ_AT_ONCE: Final = 16 << 10
_SNAPPY_READ_AT_ONCE: Final = 2 << 10
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
    """True if there may be more than MOST_PARTS gzip members, or blocks of the other codecs.

    Python looks at each, so that they take long, whatever they unfold to.
    """
    if len(data) <= MOST_PARTS * _LEAST_PART_BYTES:
        return False
    if codec is Compression.GZIP:
        return bytes(data).count(_GZIP_MAGIC) > MOST_PARTS
    if codec is Compression.ZSTD:
        from kafkalite.wire.zstd_frames import are_many

        return are_many(data, MOST_PARTS)
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


def _after_lz4_block(data: bytes | memoryview, position: int) -> int:
    """The position after a block; the end if it is the mark of a frame's end."""
    size: int
    (size,) = LZ4_BLOCK.unpack_from(data, position)
    if not size & ~LZ4_UNCOMPRESSED:
        return len(data)
    checksum_bytes = 4 if data[4] & _LZ4_BLOCK_CHECKSUM else 0
    return position + LZ4_BLOCK.size + (size & ~LZ4_UNCOMPRESSED) + checksum_bytes


def _lz4_header_bytes(flags: int) -> int:
    return 15 if flags & _LZ4_CONTENT_SIZE else 7


def is_lz4_frame(data: bytes | memoryview) -> bool:
    """True if the data are one frame that Kafka's reader takes, and nothing behind it."""
    if not _has_lz4_header(data):
        return False
    position = _lz4_header_bytes(data[4])
    while position + LZ4_BLOCK.size <= len(data):
        (size,) = LZ4_BLOCK.unpack_from(data, position)
        if not size & ~LZ4_UNCOMPRESSED:
            end = position + LZ4_BLOCK.size + (4 if data[4] & _LZ4_CONTENT_CHECKSUM else 0)
            return end == len(data)
        position = _after_lz4_block(data, position)
    return False


def _has_lz4_header(data: bytes | memoryview) -> bool:
    """True for a header with independent blocks, and no dictionary."""
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
        start = _end_of_gzip_header(data, position)
        if start is None:  # behind a member it is nothing, for Java
            return Stream(bytes(output), not position)
        member = zlib.decompressobj(wbits=-15)
        start_of_member = len(output)
        position, piece = start, b""
        try:
            while not member.eof:
                chunk = member.decompress(piece, _READ_AT_ONCE)
                piece = member.unconsumed_tail
                output += chunk
                _check(len(output), limit)
                if not chunk and not piece and not member.eof:
                    piece = data[position : position + _GZIP_CHUNK_BYTES]
                    position += len(piece)
                    if not piece:
                        return Stream(bytes(output), True)
        except zlib.error:
            return Stream(bytes(output), True)
        has_more = position < len(data)
        position -= len(member.unused_data)
        trailer = data[position : position + _GZIP_TRAILER.size]
        with memoryview(output) as whole, whole[start_of_member:] as unfolded:
            if trailer != _GZIP_TRAILER.pack(zlib.crc32(unfolded), len(unfolded) & 0xFFFFFFFF):
                return Stream(bytes(output), True)
        position += _GZIP_TRAILER.size
        if not has_more and len(data) - position <= _GZIP_HEADER_BYTES:
            return Stream(bytes(output), False)


def _end_of_gzip_header(data: bytes, start: int) -> int | None:
    """The position after a member's header, as Java reads it; None if there is none."""
    if not data.startswith(_GZIP_MAGIC, start) or start + _LEAST_GZIP_HEADER > len(data):
        return None
    flags = data[start + 3]
    position = start + _LEAST_GZIP_HEADER
    if flags & _GZIP_EXTRA:
        position += 2 + int.from_bytes(data[position : position + 2], "little")
    for flag in (_GZIP_NAME, _GZIP_COMMENT):
        if flags & flag:
            position = data.find(b"\0", position) + 1
            if not position:
                return None
    if flags & _GZIP_CHECKSUM:
        wanted = zlib.crc32(data[start:position]) & 0xFFFF
        if int.from_bytes(data[position : position + 2], "little") != wanted:
            return None
        position += 2
    return position if position <= len(data) else None


def _snappy(data: bytes, limit: int) -> Stream:
    if len(data) < _XERIAL_HEADER_BYTES or not data.startswith(XERIAL_MAGIC):
        return _whole(Compression.SNAPPY, data, limit)
    import cramjam

    output = bytearray()
    position = _XERIAL_HEADER_BYTES  # whatever its version
    while position + 4 <= len(data):
        if data.startswith(XERIAL_MAGIC, position):  # of a stream behind another, too
            header = data[position : position + _XERIAL_HEADER_BYTES]
            if len(header) < _XERIAL_HEADER_BYTES or _INT32.unpack_from(header, 8)[0] < 1:
                return _failed_snappy(output)
            position += _XERIAL_HEADER_BYTES
            continue
        (size,) = _INT32.unpack_from(data, position)
        position += 4
        block = data[position : position + size] if size >= 0 else b""
        if size <= 0 or len(block) < size:
            return _failed_snappy(output)
        try:
            _check(len(output) + cramjam.snappy.decompress_raw_len(block), limit)
            output += bytes(cramjam.snappy.decompress_raw(block))
        except cramjam.DecompressionError:
            return _failed_snappy(output)
        position += size
    return Stream(bytes(output), False)


def _failed_snappy(output: bytearray) -> Stream:
    """The stream up to the read that failed, which loses what it had unfolded."""
    return Stream(bytes(output[: _whole_reads(output, _SNAPPY_READ_AT_ONCE)]), True)


def _lz4(data: bytes, limit: int) -> Stream:
    """One frame: neither the bytes after its end nor its checksum of the content are looked at."""
    if not _has_lz4_header(data):
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
        if not size & ~LZ4_UNCOMPRESSED:
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
    from kafkalite.wire.zstd_frames import are_read_together, read_frame, readable

    output = bytearray()
    position = 0
    while position < len(data):
        frame = read_frame(data, position)
        if frame is None:
            return Stream(bytes(output), True)
        if frame.end <= len(data):
            whole = _whole(Compression.ZSTD, data[position : frame.end], limit - len(output))
            output += whole.data
            if not whole.is_broken:
                position = frame.end
                continue
        known, is_damaged = readable(data, frame, limit - len(output))
        if is_damaged or frame.end <= len(data):
            # The read that fails loses what it has unfolded before.
            return Stream(bytes(output + known[: _whole_reads(known, _READ_AT_ONCE)]), True)
        output += known + frame.part
        _check(len(output), limit)
        return Stream(bytes(output), not are_read_together(position, len(data)))
    return Stream(bytes(output), False)


def _whole_reads(data: bytes | bytearray, size: int) -> int:
    return len(data) // size * size


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
