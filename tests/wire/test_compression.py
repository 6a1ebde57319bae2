"""The codecs of record batches: there and back, bounded, and as other clients frame them."""

import gzip
import random
import tracemalloc
import zlib
from typing import Any, cast

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.wire import compression
from kafkalite.wire.compression import (
    SCRATCH_BYTES,
    Compression,
    DecompressionError,
    UnfoldsTooLarge,
    compress,
    copied,
    decompress,
    decompress_into,
    large,
)
from tests.log.very_many import MANY, longest_wait

CODECS = [codec for codec in Compression if codec]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [0, 1, 40_000, 300_000])
def test_codecs_round_trip(codec: Compression, size: int) -> None:
    data = (b"kafkalite " * (size // 10 + 1))[:size]
    assert decompress(codec, compress(codec, data)) == data
    assert decompress(codec, memoryview(compress(codec, data))) == data


@pytest.mark.parametrize("codec", [Compression.SNAPPY, Compression.LZ4, Compression.ZSTD])
def test_a_buffer_is_filled_or_too_small(codec: Compression) -> None:
    data = b"kafkalite " * 5000
    compressed = compress(codec, data)
    buffer = bytearray(len(data) + 9)
    assert decompress_into(codec, compressed, buffer) == len(data)
    assert buffer == data + bytes(9)
    assert decompress_into(codec, compressed, bytearray(len(data))) == len(data)
    assert decompress_into(codec, compressed, bytearray(len(data) - 1)) == -1
    with pytest.raises(DecompressionError):
        decompress_into(codec, compressed[:-20], buffer)


@pytest.mark.parametrize("codec", CODECS)
def test_what_does_not_fit_into_the_scratch_buffer_is_decompressed(codec: Compression) -> None:
    for size in (SCRATCH_BYTES, SCRATCH_BYTES + 1):
        data = (b"kafkalite " * (size // 10 + 1))[:size]
        assert decompress(codec, compress(codec, data)) == data


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("more", [0, 1, 12_345])
def test_what_is_copied_in_pieces_is_whole(
    monkeypatch: pytest.MonkeyPatch, codec: Compression, more: int
) -> None:
    monkeypatch.setattr(compression, "_COPIED_AT_ONCE", 1 << 20)
    data = random.Random(0).randbytes(1 << 16) * 48 + b"x" * more
    assert decompress(codec, compress(codec, data)) == data


class Sliced:
    """Bytes in memory that note how many are taken at once."""

    def __init__(self, size: int) -> None:
        self.view = memoryview(bytes(range(256)) * (size // 256 + 1))[:size]
        self.taken: list[int] = []

    def __len__(self) -> int:
        return len(self.view)

    def __getitem__(self, key: slice) -> bytes:
        some = bytes(self.view[key])
        self.taken.append(len(some))
        return some


def test_much_is_copied_in_pieces() -> None:
    """Other threads run after each, and while they are joined: Python lets them then."""
    unfolded = Sliced((64 << 20) - 1)
    assert copied(cast("memoryview", unfolded)) == unfolded.view
    assert max(unfolded.taken) <= 8 << 20
    assert sum(unfolded.taken) == len(unfolded)


@pytest.mark.parametrize("codec", CODECS)
def test_large_ones_are_unfolded_in_place(codec: Compression) -> None:
    data = random.Random(0).randbytes(1 << 16) * 48
    compressed = compress(codec, data)
    with large(codec, compressed, len(data)) as unfolded:
        assert unfolded == data
        assert isinstance(unfolded, bytes) == (codec is Compression.GZIP)
    with pytest.raises(UnfoldsTooLarge), large(codec, compressed, len(data) - 1):
        pass
    with pytest.raises(DecompressionError), large(codec, compressed[:-5], len(data)):
        pass


def test_a_block_of_snappy_that_lies_about_its_size_takes_no_memory() -> None:
    block = bytes.fromhex("80aef42a") + b"\0x"  # 90,000,000 bytes, of which one is there
    tracemalloc.start()
    try:
        with pytest.raises(DecompressionError):
            decompress(Compression.SNAPPY, block)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * SCRATCH_BYTES


def test_other_threads_run_while_the_sizes_of_very_many_blocks_are_added_up() -> None:
    first = compress(Compression.SNAPPY, b"")[:16]
    data = memoryview(first + bytes.fromhex("00000003 0100ff") * MANY)

    def refused() -> None:
        with pytest.raises(UnfoldsTooLarge):
            decompress(Compression.SNAPPY, data, MANY - 1)

    assert longest_wait(refused) < 0.5


@pytest.mark.parametrize("codec", [Compression.LZ4, Compression.ZSTD])
def test_other_threads_run_while_much_is_compressed(codec: Compression) -> None:
    data = random.Random(0).randbytes(64 << 20)
    assert longest_wait(lambda: compress(codec, data)) < 0.5


class Noted:
    """A compressor that notes how many bytes it is given at once."""

    def __init__(self, compressor: Any, taken: list[int]) -> None:
        self._compressor = compressor
        self._taken = taken

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compressor, name)

    def compress(self, data: bytes) -> Any:
        self._taken.append(len(data))
        return self._compressor.compress(data)


@pytest.mark.parametrize(
    ("codec", "module", "name"),
    [
        (Compression.GZIP, zlib, "compressobj"),
        (Compression.LZ4, cramjam.lz4, "Compressor"),
        (Compression.ZSTD, cramjam.zstd, "Compressor"),
    ],
)
def test_what_is_compressed_is_taken_in_pieces(
    codec: Compression, module: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A codec copies all that it has written at once, and holds the interpreter."""
    taken: list[int] = []
    make = getattr(module, name)
    monkeypatch.setattr(module, name, lambda *given, **named: Noted(make(*given, **named), taken))
    data = random.Random(0).randbytes(20 << 20)
    assert decompress(codec, compress(codec, data)) == data
    assert taken == [8 << 20, 8 << 20, 4 << 20]


def test_pieces_do_not_change_what_lz4_and_gzip_write(monkeypatch: pytest.MonkeyPatch) -> None:
    data = random.Random(0).randbytes(1 << 19) * 5
    written = [compress(codec, data) for codec in (Compression.LZ4, Compression.GZIP)]
    monkeypatch.setattr(compression, "_COPIED_AT_ONCE", 1 << 20)
    assert [compress(codec, data) for codec in (Compression.LZ4, Compression.GZIP)] == written


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_refused(codec: Compression) -> None:
    bomb = compress(codec, bytes(2_000_000))
    assert len(bomb) < 100_000
    with pytest.raises(UnfoldsTooLarge):
        decompress(codec, bomb, limit=1_999_999)
    assert len(decompress(codec, bomb, limit=2_000_000)) == 2_000_000


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_cut_short_or_no_stream_is_refused(codec: Compression) -> None:
    whole = compress(codec, b"".join(i.to_bytes(4) for i in range(3000)))
    for data in (whole[:-5], b"not a stream of any of them"):
        with pytest.raises(DecompressionError):
            decompress(codec, data)


def test_raw_snappy_is_read_as_well() -> None:
    raw = bytes(cramjam.snappy.compress_raw(b"a" * 99))
    assert decompress(Compression.SNAPPY, raw) == b"a" * 99


@pytest.mark.parametrize("level", [None, 1, 9])
def test_gzip_has_the_header_that_java_writes(level: int | None) -> None:
    """java.util.zip.GZIPOutputStream writes neither the level nor the system it runs on."""
    member = compress(Compression.GZIP, b"a" * 100, level)
    assert member[:10].hex() == "1f8b08000000000000ff"
    assert gzip.decompress(member) == b"a" * 100


@given(
    data=st.binary(max_size=300),
    level=st.integers(0, 9),
    cut=st.integers(0, 40),
    flips=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 7)), max_size=2),
)
def test_damaged_gzip_is_taken_where_zlib_takes_it(
    data: bytes, level: int, cut: int, flips: list[tuple[int, int]]
) -> None:
    """zlib is behind most clients and Java: a batch that it cannot read is read by nobody."""
    member = bytearray(gzip.compress(data * 3, level))
    for position, bit in flips:
        member[position % len(member)] ^= 1 << bit
    member = member[: len(member) - cut]
    reference = zlib.decompressobj(wbits=31)
    try:
        theirs: bytes | None = reference.decompress(member)
    except zlib.error:
        theirs = None
    if member and not reference.eof:
        theirs = None
    try:
        ours: bytes | None = decompress(Compression.GZIP, bytes(member))
    except DecompressionError:
        ours = None
    assert ours == theirs


def test_gzip_members_may_follow_one_another() -> None:
    assert decompress(Compression.GZIP, gzip.compress(b"a") + gzip.compress(b"b")) == b"ab"


def test_lz4_blocks_are_independent() -> None:
    """Kafka's Java reader refuses a frame whose block independence flag (bit 5 of FLG) is not
    set."""
    frame = compress(Compression.LZ4, b"x" * 100)
    assert frame[:4] == bytes.fromhex("04224d18")
    assert frame[4] & 0x20


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
def test_a_level_says_how_hard_to_try(codec: Compression) -> None:
    data = b"".join(b"line %d of what is written\n" % (i * 7919 % 5000) for i in range(5000))
    least, most = (
        compress(codec, data, 1),
        compress(codec, data, 12 if codec is Compression.LZ4 else 9),
    )
    assert len(most) < len(least)
    assert decompress(codec, least) == decompress(codec, most) == data


def test_nothing_is_done_without_a_codec() -> None:
    assert compress(Compression.NONE, b"as it is") == b"as it is"
    assert decompress(Compression.NONE, memoryview(b"as it is")) == b"as it is"


def test_snappy_is_written_in_the_blocks_of_the_java_client() -> None:
    """xerial's stream: a header of 16 bytes, then blocks of at most 32 KiB after their length."""
    stream = compress(Compression.SNAPPY, b"x" * 40_000)
    assert stream[:16] == b"\x82SNAPPY\x00" + bytes([0, 0, 0, 1, 0, 0, 0, 1])
    first = int.from_bytes(stream[16:20], "big")
    assert cramjam.snappy.decompress_raw_len(stream[20 : 20 + first]) == 32 * 1024


def test_a_block_of_snappy_beyond_the_end_is_refused() -> None:
    stream = bytearray(compress(Compression.SNAPPY, b"x" * 100))
    stream[16:20] = (1 << 20).to_bytes(4, "big")
    with pytest.raises(DecompressionError, match="cut short"):
        decompress(Compression.SNAPPY, bytes(stream))


def test_the_limit_of_snappy_is_that_of_all_blocks() -> None:
    stream = compress(Compression.SNAPPY, b"x" * 65_536)
    with pytest.raises(UnfoldsTooLarge):
        decompress(Compression.SNAPPY, stream, limit=65_535)
    assert len(decompress(Compression.SNAPPY, stream, limit=65_536)) == 65_536
