"""Compressed records as far as they go."""

import zlib
from collections.abc import Callable

import cramjam
import pytest

from kafkalite.wire.compression import (
    Compression,
    DecompressionError,
    UnfoldsTooLarge,
    compress,
    decompress,
)
from kafkalite.wire.stream_decompression import (
    MOST_PARTS,
    Stream,
    decompress_stream,
    has_many_parts,
    is_lz4_frame,
)

# Not one block in any codec.
DATA = b"".join(b"line %d of what is written\n" % i for i in range(20_000))
CODECS = [codec for codec in Compression if codec]


@pytest.mark.parametrize("codec", Compression)
def test_whole_streams_end_well(codec: Compression) -> None:
    assert decompress_stream(codec, compress(codec, DATA)) == Stream(DATA, False)


@pytest.mark.parametrize("codec", CODECS)
def test_cut_streams_are_broken_at_their_end(codec: Compression) -> None:
    whole = compress(codec, DATA)
    for size in (1, len(whole) // 2, len(whole) - 1):
        stream = decompress_stream(codec, whole[:size])
        assert stream.is_broken
        assert DATA.startswith(stream.data)
    assert len(decompress_stream(codec, whole[: len(whole) // 2]).data) > 50_000


LZ4_HEADER = bytes.fromhex("04224d18604082")
# A block checksum, or the content's size, before the header's own checksum.
LZ4_WITH_CHECKSUMS = bytes.fromhex("04224d1870405a")
LZ4_WITH_SIZE = bytes.fromhex("04224d186840") + bytes(8) + b"\0"
XERIAL_HEADER = compress(Compression.SNAPPY, b"")[:16]

MANY = {
    "gzip": (Compression.GZIP, b"", compress(Compression.GZIP, b""), b""),
    "snappy": (Compression.SNAPPY, XERIAL_HEADER, bytes.fromhex("00000001 00"), b""),
    "snappy streams": (Compression.SNAPPY, b"", XERIAL_HEADER, b""),
    "lz4": (Compression.LZ4, LZ4_HEADER, bytes.fromhex("01000080 61"), bytes(4)),
    "lz4 with checksums": (
        *(Compression.LZ4, LZ4_WITH_CHECKSUMS),
        *(bytes.fromhex("01000080 61 ffffffff"), bytes(4)),
    ),
    "lz4 with its size": (Compression.LZ4, LZ4_WITH_SIZE, b"\1\0\0\x80a", bytes(4)),
}


@pytest.mark.parametrize("kind", MANY)
def test_many_small_parts_are_seen(kind: str) -> None:
    codec, first, part, last = MANY[kind]
    many = first + part * (MOST_PARTS + 1) + last
    assert has_many_parts(codec, memoryview(many))
    padding = b"\1" * 9000  # few parts, and as many bytes
    assert not has_many_parts(codec, memoryview(first + part * 100 + last + padding))
    assert not has_many_parts(codec, memoryview(first + part * 100))


def test_few_parts_are_not_many() -> None:
    for codec in CODECS:
        assert not has_many_parts(codec, memoryview(compress(codec, DATA)))
    raw = memoryview(bytes(cramjam.snappy.compress_raw(DATA)))
    assert not has_many_parts(Compression.SNAPPY, raw)


@pytest.mark.parametrize("read", [decompress, lambda *given: decompress_stream(*given).data])
def test_many_members_of_gzip_are_read(read: Callable[[Compression, bytes], bytes]) -> None:
    members = [
        compress(Compression.GZIP, DATA[start : start + 300]) for start in range(0, 6000, 300)
    ]
    large = compress(Compression.GZIP, DATA)
    assert read(Compression.GZIP, b"".join([*members, large])) == DATA[:6000] + DATA
    assert read(Compression.GZIP, b"".join([large, *members])) == DATA + DATA[:6000]
    with pytest.raises(UnfoldsTooLarge):
        decompress(Compression.GZIP, large * 2, 2 * len(DATA) - 1)
    with pytest.raises(DecompressionError):
        decompress(Compression.GZIP, (large + members[0])[:-1])


def test_only_zstd_reads_what_follows_a_frame() -> None:
    for codec in CODECS:
        stream = decompress_stream(codec, compress(codec, DATA) + b"abc")
        assert stream.is_broken is (codec is Compression.ZSTD)


def test_gzip_and_snappy_go_on_with_another_stream() -> None:
    for codec in (Compression.GZIP, Compression.SNAPPY):
        assert decompress_stream(codec, compress(codec, DATA) * 2) == Stream(DATA * 2, False)
    assert decompress_stream(Compression.LZ4, compress(Compression.LZ4, DATA) * 2).data == DATA


@pytest.mark.parametrize("codec", CODECS)
def test_nothing_is_unfolded_beyond_the_limit(codec: Compression) -> None:
    with pytest.raises(UnfoldsTooLarge):
        decompress_stream(codec, compress(codec, DATA), limit=len(DATA) - 1)
    assert decompress_stream(codec, compress(codec, DATA), limit=len(DATA)).data == DATA


def test_an_lz4_frame_has_independent_blocks() -> None:
    frame = compress(Compression.LZ4, DATA)
    assert is_lz4_frame(frame)
    linked = frame[:4] + bytes((frame[4] & ~0x20,)) + frame[5:]
    assert not is_lz4_frame(linked)
    assert not is_lz4_frame(frame[:5])


def test_an_lz4_frame_has_nothing_behind_it() -> None:
    """Kafka's reader stops at a frame's end, so records behind it would be lost to consumers."""
    frame = compress(Compression.LZ4, DATA)
    checked = LZ4_WITH_CHECKSUMS + bytes.fromhex("01000080 61 ffffffff") + bytes(4)
    for one in (frame, checked):
        assert is_lz4_frame(one)
        assert not is_lz4_frame(one + one)
        assert not is_lz4_frame(one + b"a")
        assert not is_lz4_frame(one[:-1])


def test_an_lz4_block_of_nothing_ends_the_frame() -> None:
    block, nothing, end = bytes.fromhex("01000080 61"), bytes.fromhex("00000080"), bytes(4)
    data = LZ4_HEADER + block + nothing + block + end
    assert decompress_stream(Compression.LZ4, data) == Stream(b"a", False)
    assert not is_lz4_frame(data)


@pytest.mark.parametrize("read", [decompress, decompress_stream])
def test_a_snappy_block_of_nothing_is_none(
    read: Callable[[Compression, bytes], bytes | Stream],
) -> None:
    """snappy-java cannot read it, so records before it would be lost to consumers."""
    data = compress(Compression.SNAPPY, b"records") + bytes(4)
    if read is decompress:
        with pytest.raises(DecompressionError):
            read(Compression.SNAPPY, data)
    else:
        assert read(Compression.SNAPPY, data) == Stream(b"", True)


def test_the_first_header_of_snappy_may_have_any_version() -> None:
    blocks = compress(Compression.SNAPPY, b"abc")[16:]
    for version in (0, 1, 2**32 - 5):
        header = XERIAL_HEADER[:8] + version.to_bytes(4) + XERIAL_HEADER[12:]
        assert decompress_stream(Compression.SNAPPY, header + blocks) == Stream(b"abc", False)
        again = XERIAL_HEADER + blocks + header + blocks
        assert decompress_stream(Compression.SNAPPY, again).is_broken is (version != 1)
    with pytest.raises(DecompressionError):
        decompress(Compression.SNAPPY, XERIAL_HEADER[:14])


def test_what_a_failed_read_had_unfolded_is_lost() -> None:
    """Kafka asks for 2 KiB of snappy at once, and for 16 KiB of gzip and zstd."""
    snappy = compress(Compression.SNAPPY, DATA[:40_000])
    size = len(decompress_stream(Compression.SNAPPY, snappy + b"garbage").data)
    assert size == 40_000 // 2048 * 2048
    zstd = compress(Compression.ZSTD, DATA[:40_000])
    assert decompress_stream(Compression.ZSTD, zstd + b"abcde") == Stream(DATA[:40_000], True)
    wrong = bytes([zstd[4] | 4]).join((zstd[:4], zstd[5:])) + b"\1\2\3\4"
    stream = decompress_stream(Compression.ZSTD, wrong)
    assert stream == Stream(DATA[: 40_000 // 16384 * 16384], True)


def test_a_cut_zstd_frame_behind_a_whole_one_is_nothing() -> None:
    one = compress(Compression.ZSTD, b"one")
    for size in range(1, len(one)):
        assert decompress_stream(Compression.ZSTD, one + one[:size]).is_broken is False


GZIP_HEAD = bytes.fromhex("1f8b08")


def test_gzip_headers_as_java_reads_them() -> None:
    raw = compress(Compression.GZIP, b"abc")[10:]
    rest = bytes(6)
    for flags, fields in (
        (0, b""),
        (4, b"\3\0xyz"),
        (8, b"name\0"),
        (16, b"comment\0"),
        (28, b"\1\0xname\0comment\0"),
        (0xE0, b""),
    ):
        header = GZIP_HEAD + bytes([flags]) + rest + fields
        assert decompress_stream(Compression.GZIP, header + raw) == Stream(b"abc", False)
        sealed = GZIP_HEAD + bytes([flags | 2]) + rest + fields
        checksum = (zlib.crc32(sealed) & 0xFFFF).to_bytes(2, "little")
        assert decompress_stream(Compression.GZIP, sealed + checksum + raw).data == b"abc"
        assert decompress_stream(Compression.GZIP, sealed + b"xx" + raw) == Stream(b"", True)
    for header in (GZIP_HEAD, GZIP_HEAD + bytes([8]) + rest + b"name"):
        assert decompress_stream(Compression.GZIP, header) == Stream(b"", True)
        good = compress(Compression.GZIP, b"abc" * 99)
        more = good + header + b"x" * 40
        assert decompress_stream(Compression.GZIP, more).data == b"abc" * 99


def test_gzip_is_read_before_its_trailer() -> None:
    whole = compress(Compression.GZIP, DATA)
    for trailer in (b"", whole[-8:-1], b"\0" * 4 + whole[-4:], whole[-8:-4] + b"\1\2\3\4"):
        assert decompress_stream(Compression.GZIP, whole[:-8] + trailer) == Stream(DATA, True)
