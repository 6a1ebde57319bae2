"""The four codecs of a record batch, framed as Kafka's clients frame them.

gzip and zstd are their own frames. lz4 is the LZ4 frame format with independent blocks (Kafka's
Java reader refuses linked ones). snappy comes in two shapes: the Java client writes xerial's block
stream, librdkafka and others write one raw block; both are read, and xerial is written, as Kafka
does.

What a client sends is small by `max.message.bytes`; what it unfolds to is not: a megabyte of zstd
can hold gigabytes. So nothing here decompresses without a limit (`MAX_DECOMPRESSED_BYTES` unless
told).
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from enum import IntEnum
from time import sleep
from typing import Final

# cramjam takes 2 MB of memory: functions import it, and zlib-ng, at the first batch that needs it.

# The most that an uncompressed request may hold (socket.request.max.bytes): a batch that unfolds to
# more could never have been sent plain.
MAX_DECOMPRESSED_BYTES: Final = 104_857_600

XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
# Then the version, and the oldest compatible version.
_XERIAL_HEADER: Final = XERIAL_MAGIC + struct.pack(">ii", 1, 1)
_XERIAL_BLOCK_BYTES: Final = 32 * 1024
_INT32: Final = struct.Struct(">i")

# After so many blocks, the threads that wait for the interpreter run.
_BLOCKS_OF_PART: Final = 4096

# cramjam's words for an output that is too small.
_OUTPUT_IS_FULL: Final = "failed to write whole buffer"

# One for each thread that decompresses at a time.
SCRATCH_BYTES: Final = 1 << 20
_scratches: list[bytearray] = []

_GZIP_PIECE_BYTES: Final = 512

# Takes about two milliseconds. A multiple of the blocks of lz4 and snappy.
_COPIED_AT_ONCE: Final = 8 << 20

GZIP_DEFAULT_LEVEL: Final = -1
LZ4_DEFAULT_LEVEL: Final = 9
ZSTD_DEFAULT_LEVEL: Final = 3


class Compression(IntEnum):
    """A codec by its number in a batch's attributes (bits 0-2); names as in `compression.type`."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# RFC 1952: no flags, no time, no word about the level, an unknown system; as Java writes it.
_GZIP_HEADER: Final = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
# The checksum and the size of what was compressed.
_GZIP_TRAILER: Final = struct.Struct("<II")

_LZ4_FAST: Final = 0
# Version 1, independent blocks of up to 64 KiB, no checksums but the header's own.
_LZ4_HEADER: Final = bytes.fromhex("04224d18 60 40 82")
# Before each block: its length, and whether it is as it was.
LZ4_BLOCK: Final = struct.Struct("<I")
LZ4_UNCOMPRESSED: Final = 1 << 31
_LZ4_CHECKSUM_BYTES: Final = 4


class DecompressionError(ValueError):
    """The bytes are no stream of that codec, or unfold to more than the limit."""


class UnfoldsTooLarge(DecompressionError):
    """The bytes unfold to more than the limit."""


def compress(codec: Compression, data: bytes | bytearray, level: int | None = None) -> bytes:
    """Compress `data`; `level` as in `compression.<codec>.level`, Kafka's default when None."""
    match codec:
        case Compression.NONE:
            return copied(data)
        case Compression.GZIP:
            deflate = zlib.compressobj(GZIP_DEFAULT_LEVEL if level is None else level, wbits=-15)
            parts = [deflate.compress(piece) for piece in _pieces(data)]
            trailer = _GZIP_TRAILER.pack(zlib.crc32(data), len(data))
            return b"".join((_GZIP_HEADER, *parts, deflate.flush(), trailer))
        case Compression.SNAPPY:
            return _compress_xerial(copied(data))
        case Compression.LZ4:
            return _compress_lz4(copied(data), LZ4_DEFAULT_LEVEL if level is None else level)
        case Compression.ZSTD:
            import cramjam

            zstd = cramjam.zstd.Compressor(level=ZSTD_DEFAULT_LEVEL if level is None else level)
            pieces: list[bytes] = []
            for piece in _pieces(data):
                zstd.compress(piece)
                pieces.append(bytes(zstd.flush()))  # as Kafka: a frame's last block is an empty one
            return b"".join((*pieces, bytes(zstd.finish())))


def decompress(
    codec: Compression, data: bytes | memoryview, limit: int = MAX_DECOMPRESSED_BYTES
) -> bytes:
    """Decompress `data` to at most `limit` bytes.

    Raises:
        DecompressionError: not that codec's format, or cut short.
        UnfoldsTooLarge: longer than `limit`.
    """
    if codec is Compression.NONE:
        return copied(data)
    if limit >= SCRATCH_BYTES:
        with Scratch() as buffer:
            size = decompress_into(codec, data, buffer)
            if size >= 0:
                return bytes(memoryview(buffer)[:size])
    with large(codec, data, limit) as unfolded:
        return copied(unfolded)


@contextmanager
def large(
    codec: Compression, data: bytes | memoryview, limit: int
) -> Generator[bytes | memoryview]:
    """`decompress`, for what unfolds to more than a `Scratch` holds, without a copy of it.

    Not for NONE.
    """
    if codec is Compression.GZIP:
        yield _decompress_gzip(data, limit)
        return
    most = _snappy_size(memoryview(data), limit) if codec is Compression.SNAPPY else limit
    # lz4 and zstd need not tell their size, and that of snappy may be a lie. Pages of a mapping
    # cost nothing until they are written to, so one pass does, and the codec stops at its end.
    with mmap.mmap(-1, max(most, 1)) as output:
        size = decompress_into(codec, data, output)
        if not 0 <= size <= limit:
            raise UnfoldsTooLarge(f"unfolds to more than {limit} bytes")
        with memoryview(output) as whole, whole[:size] as unfolded:
            yield unfolded


def decompress_into(
    codec: Compression, data: bytes | memoryview, buffer: bytearray | mmap.mmap
) -> int:
    """Decompress into `buffer`. Returns the number of bytes; -1 if there may be more than it holds.

    Raises:
        DecompressionError: not that codec's format, or cut short.
    """
    import cramjam

    try:
        match codec:
            case Compression.SNAPPY:
                return _snappy_into(memoryview(data), buffer)
            case Compression.LZ4:
                return cramjam.lz4.decompress_into(data, buffer)
            case Compression.ZSTD:
                return cramjam.zstd.decompress_into(data, buffer)
            case _:
                return -1
    except cramjam.DecompressionError as error:
        if _OUTPUT_IS_FULL in str(error):
            return -1
        raise DecompressionError(f"{codec.name.lower()}: {error}") from error


class Scratch:
    """A buffer of SCRATCH_BYTES that is used again and again. Nearly every batch unfolds into it.

    New memory would cost more than to decompress does.
    """

    def __enter__(self) -> bytearray:
        self._buffer = _scratches.pop() if _scratches else bytearray(SCRATCH_BYTES)
        return self._buffer

    def __exit__(self, *_: object) -> None:
        _scratches.append(self._buffer)


def copied(data: bytes | bytearray | memoryview) -> bytes:
    """A copy, made while other threads have their turns: only a join of bytes lets them."""
    if isinstance(data, bytes):
        return data
    if len(data) <= _COPIED_AT_ONCE:
        return bytes(data)
    return b"".join(_pieces(data))


def _pieces(data: bytes | bytearray | memoryview) -> Iterator[bytes]:
    """At least one: a codec is given the empty one, too."""
    if isinstance(data, bytes) and len(data) <= _COPIED_AT_ONCE:
        yield data
        return
    view = memoryview(data) if isinstance(data, bytes | bytearray) else data
    for start in range(0, max(len(data), 1), _COPIED_AT_ONCE):
        if start:
            sleep(0)  # machine code holds the interpreter
        yield bytes(view[start : start + _COPIED_AT_ONCE])


def _compress_xerial(data: bytes) -> bytes:
    import cramjam

    chunks = [_XERIAL_HEADER]
    for start in range(0, len(data), _XERIAL_BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _XERIAL_BLOCK_BYTES]))
        chunks.append(_INT32.pack(len(block)))
        chunks.append(block)
    return b"".join(chunks)


def _snappy_size(data: memoryview, limit: int) -> int:
    """The size that the blocks tell. Raises DecompressionError."""
    import cramjam

    size = 0
    try:
        for number, block in enumerate(_snappy_blocks(data)):
            size += cramjam.snappy.decompress_raw_len(block)
            if size > limit:
                raise UnfoldsTooLarge(f"snappy: unfolds to {size} bytes, more than allowed")
            if number % _BLOCKS_OF_PART == _BLOCKS_OF_PART - 1:
                sleep(0)  # machine code holds the interpreter
    except cramjam.DecompressionError as error:
        raise DecompressionError(f"snappy: {error}") from error
    return size


def _snappy_into(data: memoryview, buffer: bytearray | mmap.mmap) -> int:
    import cramjam

    position = 0
    with memoryview(buffer) as room:
        for block in _snappy_blocks(data):
            end = position + cramjam.snappy.decompress_raw_len(block)
            if end > len(room):
                return -1
            with room[position:end] as part:
                cramjam.snappy.decompress_raw_into(block, part)
            position = end
    return position


def _snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    """The one raw block, or those of xerial's stream."""
    if len(data) < len(_XERIAL_HEADER) or bytes(data[:8]) != XERIAL_MAGIC:
        yield data
        return
    position = len(_XERIAL_HEADER)
    while position < len(data):
        if position + _INT32.size > len(data):
            raise DecompressionError("snappy: the size of a block is cut short")
        (size,) = _INT32.unpack_from(data, position)
        position += 4
        if size <= 0 or position + size > len(data):  # an empty block is none, for Java
            raise DecompressionError(f"snappy: block of {size} bytes at {position} is cut short")
        yield data[position : position + size]
        position += size


def _compress_lz4(data: bytes, level: int) -> bytes:
    """Write a frame. The default level means LZ4's fast compressor (Kafka's Lz4BlockOutputStream).

    cramjam cannot leave out the checksums of blocks, so they are taken out.
    """
    import cramjam

    lz4 = cramjam.lz4.Compressor(
        level=_LZ4_FAST if level == LZ4_DEFAULT_LEVEL else level,
        content_checksum=False,
        block_linked=False,
    )
    parts = [_LZ4_HEADER]
    position = len(_LZ4_HEADER)
    for piece in _pieces(data):
        lz4.compress(piece)
        position = _take_blocks(memoryview(lz4.flush()), position, parts)
    _take_blocks(memoryview(lz4.finish()), position, parts)
    return b"".join(parts)


def _take_blocks(written: memoryview, position: int, parts: list[bytes]) -> int:
    """Append the blocks of a frame, from `position` on, without their checksums. Returns 0: where
    the next blocks begin, in what is written next.
    """
    while position < len(written):
        (word,) = LZ4_BLOCK.unpack_from(written, position)
        end = position + LZ4_BLOCK.size + (word & ~LZ4_UNCOMPRESSED)
        parts.append(bytes(written[position:end]))
        position = end + _LZ4_CHECKSUM_BYTES
    return 0


def _decompress_gzip(data: bytes | memoryview, limit: int) -> bytes:
    from zlib_ng import zlib_ng  # takes what zlib takes, in less than half of the time

    chunks: list[bytes] = []
    rest = memoryview(data)
    # Nearly always there is one member. What follows is given in small pieces, as zlib copies what
    # it was given and did not need.
    piece_bytes = len(rest)
    try:
        while len(rest):  # RFC 1952: members may follow one another
            member = zlib_ng.decompressobj(wbits=31)
            while not member.eof:
                if not len(rest):
                    raise DecompressionError("gzip: cut short")
                piece = rest[:piece_bytes]
                chunk = member.decompress(piece, limit + 1)
                limit -= len(chunk)
                if limit < 0:
                    raise UnfoldsTooLarge("gzip: unfolds to more bytes than allowed")
                chunks.append(chunk)
                rest = rest[len(piece) - len(member.unused_data) :]
            piece_bytes = _GZIP_PIECE_BYTES
    except zlib_ng.error as error:
        raise DecompressionError(f"gzip: {error}") from error
    return b"".join(chunks)
