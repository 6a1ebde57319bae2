"""The frames of a zstd stream, and the blocks in them: what can be read of a damaged one.

The codec decompresses whole streams only. So a damaged frame is made anew, with the blocks before
the damage. Source: RFC 8878, and zstd-jni's ZstdInputStreamNoFinalizer.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from kafkalite.wire.compression import Compression, DecompressionError, UnfoldsTooLarge, decompress

_MAGIC: Final = b"\x28\xb5\x2f\xfd"
# Behind a byte from 0x50 to 0x5f.
_SKIPPABLE: Final = b"\x2a\x4d\x18"
_LEAST_SKIPPABLE: Final = 0x50
_SKIPPABLE_HEADER_BYTES: Final = 8
_LEAST_HEADER_BYTES: Final = 6
_BLOCK_HEADER_BYTES: Final = 3
_RAW, _RLE, _RESERVED_KIND = 0, 1, 3
_MOST_BLOCK_BYTES: Final = 1 << 17
_CHECKSUM_BYTES: Final = 4
# More than there is room for in any request.
MOST_BLOCKS: Final = 1 << 31
_UINT32: Final = struct.Struct("<I")

_CHECKSUM_FLAG: Final = 0x04
_RESERVED: Final = 0x08
_SINGLE_SEGMENT: Final = 0x20
_DICTIONARY_BYTES: Final = (0, 1, 2, 4)
_SIZE_BYTES: Final = (0, 2, 4, 8)
# A window descriptor's exponent begins with windows of 1 KiB, and stands in its upper five bits.
_LEAST_WINDOW_LOG: Final = 10
_MOST_WINDOW_LOG: Final = 27
# A block has up to 128 KiB, and no more than the window.
_LEAST_LOG_FOR_WHOLE_BLOCKS: Final = 17

# The pieces in which zstd-jni reads a stream (ZSTD_DStreamInSize).
_READ_AT_ONCE: Final = (1 << 17) + _BLOCK_HEADER_BYTES


class Frame(NamedTuple):
    """A frame from its first byte on. Its `end` is behind the stream's if it was cut.

    `blocks` are the ends of the blocks that are whole; `part` is what there is of a block of plain
    bytes that is cut. A frame that is to be skipped has no `header`.
    """

    header: bytes
    first_block: int
    blocks: list[int]
    part: bytes
    end: int


def read_frame(
    data: bytes | memoryview, start: int, most_blocks: int = MOST_BLOCKS
) -> Frame | None:
    """The frame that begins there, of which at most so many blocks are looked at.

    None if none does that could be read.
    """
    cut = Frame(b"", start, [], b"", len(data) + 1)
    magic = bytes(data[start : start + 4])
    if _SKIPPABLE.startswith(magic[1:]) and magic[0] & 0xF0 == _LEAST_SKIPPABLE:
        if len(data) < start + _SKIPPABLE_HEADER_BYTES:
            return cut
        (size,) = _UINT32.unpack_from(data, start + 4)
        return cut._replace(end=start + _SKIPPABLE_HEADER_BYTES + size)
    if not _MAGIC.startswith(magic):
        return None
    if len(data) < start + _LEAST_HEADER_BYTES:
        return cut
    flags = data[start + 4]
    is_single = bool(flags & _SINGLE_SEGMENT)
    dictionary = start + 5 + (not is_single)
    size = dictionary + _DICTIONARY_BYTES[flags & 3]
    first = size + (_SIZE_BYTES[flags >> 6] or is_single)
    if len(data) < first:
        return cut
    content = _content_size(data[size:first])
    descriptor = _window(content) if is_single else data[start + 5]
    window_log = _LEAST_WINDOW_LOG + (descriptor >> 3)
    if flags & _RESERVED or any(data[dictionary:size]) or window_log > _MOST_WINDOW_LOG:
        return None
    # Without its size and its checksum, which are those of all blocks.
    header = _MAGIC + bytes((0, descriptor))
    window = content if is_single else 8 + (descriptor & 7) << window_log - 3
    checksum_bytes = _CHECKSUM_BYTES if flags & _CHECKSUM_FLAG else 0
    frame = cut._replace(header=header, first_block=first, blocks=[])
    return _with_blocks(data, frame, checksum_bytes, min(window, _MOST_BLOCK_BYTES), most_blocks)


def _content_size(field: bytes | memoryview) -> int:
    return int.from_bytes(field, "little") + (256 if len(field) == 2 else 0)


def _window(content_size: int) -> int:
    """The descriptor of a window in which a content of this size has room."""
    window_log = max((content_size - 1).bit_length(), _LEAST_LOG_FOR_WHOLE_BLOCKS)
    return window_log - _LEAST_WINDOW_LOG << 3


def _with_blocks(
    data: bytes | memoryview, frame: Frame, checksum_bytes: int, most_bytes: int, most_blocks: int
) -> Frame:
    """The frame with its blocks, none of which may be larger than `most_bytes`."""
    position, blocks = frame.first_block, frame.blocks
    while position + _BLOCK_HEADER_BYTES <= len(data) and len(blocks) < most_blocks:
        word = int.from_bytes(data[position : position + _BLOCK_HEADER_BYTES], "little")
        kind, size = word >> 1 & 3, word >> 3
        begin = position + _BLOCK_HEADER_BYTES
        if kind == _RLE:
            size = 1
        if size > most_bytes or kind == _RESERVED_KIND:
            return frame._replace(end=position)  # it ends with a fault
        position = begin + size
        if position > len(data):
            return frame._replace(end=position, part=bytes(data[begin:]) if kind == _RAW else b"")
        blocks.append(position)
        if word & 1:
            return frame._replace(end=position + checksum_bytes)
    return frame


def are_many(data: memoryview, most: int) -> bool:
    """True if there are so many frames and blocks."""
    position = 0
    while position < len(data):
        frame = read_frame(data, position, most)
        if frame is None:
            return False
        most -= 1 + len(frame.blocks)
        if most <= 0:
            return True
        position = frame.end
    return False


def readable(data: bytes, frame: Frame, limit: int) -> tuple[bytes, bool]:
    """The contents of the whole blocks before the first damaged one, and True if there is one.

    Raises UnfoldsTooLarge.
    """
    known, least, most = b"", 0, len(frame.blocks)
    wanted = most
    while least < most:
        try:
            known, least = _first_blocks(data, frame, wanted, limit), wanted
        except UnfoldsTooLarge:
            raise
        except DecompressionError:
            most = wanted - 1
        wanted = (least + most + 1) // 2
    return known, least < len(frame.blocks)


def _first_blocks(data: bytes, frame: Frame, count: int, limit: int) -> bytes:
    """So many blocks' contents, at least one's. Raises DecompressionError."""
    last = frame.blocks[count - 2] if count > 1 else frame.first_block
    parts = (
        frame.header,
        data[frame.first_block : last],
        bytes((data[last] | 1,)),
        data[last + 1 : frame.blocks[count - 1]],
    )
    return decompress(Compression.ZSTD, b"".join(parts), limit)


def are_read_together(end_of_frame: int, size: int) -> bool:
    """True if zstd-jni had read the last of `size` bytes when it came to the frame's end.

    It takes what it has read then for the end of the stream, if it is not a whole frame.
    """
    return bool(end_of_frame % _READ_AT_ONCE) and (
        end_of_frame // _READ_AT_ONCE == (size - 1) // _READ_AT_ONCE
    )
