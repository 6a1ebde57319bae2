"""zstd frames, cut and damaged: as far as zstd-jni's stream reads them."""

import struct

import cramjam
import pytest

from kafkalite.wire.compression import UnfoldsTooLarge
from kafkalite.wire.zstd_frames import are_many, are_read_together, read_frame, readable

BLOCKS = [bytes([65 + number]) * 1000 for number in range(4)]
MAGIC = b"\x28\xb5\x2f\xfd"
PLAIN, SAME, PACKED, RESERVED = range(4)


def block(data: bytes, *, is_last: bool = False, kind: int = PLAIN) -> bytes:
    return (len(data) << 3 | kind << 1 | is_last).to_bytes(3, "little") + data


def frame(blocks: list[bytes], header: bytes = b"\x00\x58", rest: bytes = b"") -> bytes:
    parts = [block(data, is_last=data is blocks[-1]) for data in blocks]
    return MAGIC + header + b"".join(parts) + rest


def flushed(pieces: list[bytes]) -> bytes:
    """A frame of compressed blocks, one for each piece."""
    writer = cramjam.zstd.Compressor()
    parts = []
    for piece in pieces:
        writer.compress(piece)
        parts.append(bytes(writer.flush()))
    return b"".join([*parts, bytes(writer.finish())])


@pytest.mark.parametrize(
    "header",
    [
        b"\x00\x58",
        b"\x80\x58" + struct.pack("<I", 4000),
        b"\xa0" + struct.pack("<I", 4000),
        b"\x60" + struct.pack("<H", 4000 - 256),
        b"\x01\x58\x00",
    ],
    ids=["window", "and size", "size alone", "short size", "dictionary 0"],
)
def test_the_blocks_of_a_frame(header: bytes) -> None:
    whole = frame(BLOCKS, header)
    found = read_frame(b"xx" + whole + b"yy", 2)
    assert found is not None
    assert (len(found.blocks), found.end) == (4, 2 + len(whole))
    assert readable(b"xx" + whole, found, 4000) == (b"".join(BLOCKS), False)
    with pytest.raises(UnfoldsTooLarge):
        readable(b"xx" + whole, found, 3999)


def test_a_frame_with_a_checksum_ends_behind_it() -> None:
    whole = frame(BLOCKS, b"\x04\x58", b"\1\2\3\4")
    found = read_frame(whole, 0)
    assert found is not None
    assert found.end == len(whole)


def test_a_frame_that_is_cut_has_its_whole_blocks_and_a_part() -> None:
    whole = frame(BLOCKS)
    for size in range(len(whole)):
        found = read_frame(whole[:size], 0) if size else None
        if found is None:
            continue
        known, is_damaged = readable(whole[:size], found, 4000)
        assert not is_damaged
        assert found.end > size
        assert b"".join(BLOCKS).startswith(known + found.part)
        assert len(known + found.part) >= size - 6 - 3 * 5


def test_blocks_before_a_damage_can_be_read() -> None:
    whole = flushed([b"line %d of many\n" % number * 20 for number in range(50)])
    found = read_frame(whole, 0)
    assert found is not None
    at = found.blocks[30] + 3
    damaged = whole[:at] + bytes([whole[at] ^ 0xFF, 0xFF, 0xFF, 0xFF]) + whole[at + 4 :]
    known, is_damaged = readable(damaged, found, 1 << 20)
    assert is_damaged
    assert known.count(b"\n") == 31 * 20


@pytest.mark.parametrize(
    "data",
    [
        b"abcd",
        b"\x28a",
        MAGIC + b"\x08\x58" + bytes(9),
        MAGIC + b"\x01\x58\x05" + bytes(9),
        MAGIC + b"\x00\x90" + bytes(9),
        MAGIC + b"\xa0" + struct.pack("<I", 2**31) + bytes(9),
    ],
    ids=["no magic", "half of none", "reserved bit", "dictionary 5", "window", "size"],
)
def test_what_begins_no_frame(data: bytes) -> None:
    assert read_frame(data, 0) is None


@pytest.mark.parametrize(
    "fault",
    [block(bytes(1024), kind=RESERVED), block(bytes((1 << 17) + 1)), b"\xff\xff\xff"],
    ids=["reserved", "too large", "reserved and too large"],
)
def test_a_block_that_there_cannot_be_ends_a_frame(fault: bytes) -> None:
    start = MAGIC + b"\x00\x58" + block(BLOCKS[0])
    found = read_frame(start + fault, 0)
    assert found is not None
    assert found.end == len(start)
    assert readable(start, found, 4000) == (BLOCKS[0], False)


def test_frames_to_skip() -> None:
    skipped = b"\x5f\x2a\x4d\x18" + struct.pack("<I", 3) + b"abc"
    for size in range(1, len(skipped) + 1):
        found = read_frame(skipped[:size], 0)
        assert found is not None
        assert (found.end == size) is (size == len(skipped))


def test_many_small_parts_are_counted() -> None:
    data = frame([b"a", b"b", b"c"]) + b"\x50\x2a\x4d\x18" + bytes(4)
    assert are_many(memoryview(data), 5)
    assert not are_many(memoryview(data), 6)
    assert not are_many(memoryview(b"garbage"), 1)


def test_what_is_read_at_once() -> None:
    piece = (1 << 17) + 3
    assert are_read_together(5, 100)
    assert are_read_together(piece + 5, 2 * piece)
    assert not are_read_together(5, piece + 1)
    assert not are_read_together(piece, piece + 9), "the frame ended what had been read"
    assert not are_read_together(0, 9), "no frame has ended"
