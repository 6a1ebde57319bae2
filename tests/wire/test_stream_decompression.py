"""Compressed records as far as they go."""

import pytest

from kafkalite.wire.compression import Compression, UnfoldsTooLarge, compress
from kafkalite.wire.stream_decompression import Stream, decompress_stream, is_lz4_frame

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
    if codec is not Compression.ZSTD:
        assert len(decompress_stream(codec, whole[: len(whole) // 2]).data) > 50_000


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
