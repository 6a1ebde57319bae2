"""Records come out plain, whatever compressed them, batch behind batch."""

from __future__ import annotations

import pytest

from kafkalite.spark.batch_headers import walk
from kafkalite.spark.decompress import unfold
from kafkalite.spark.vectorized_records import CorruptRecords
from kafkalite.wire.compression import Compression
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.record_batch import HEADER_BYTES, Record, build_batch


def batch(value: bytes, codec: Compression = Compression.NONE, offset: int = 0) -> bytes:
    return build_batch([Record(value=value)], base_offset=offset, compression=codec)


def plain(data: bytes) -> list[tuple[int, bytes]]:
    """The base offset of each batch and its records' bytes."""
    found: list[tuple[int, bytes]] = []
    for part in unfold(data, walk(data)):
        for start, end, offset in zip(
            part.starts.tolist(), part.ends.tolist(), part.fields["base_offset"], strict=True
        ):
            found.append((int(offset), bytes(part.data[start:end])))
    return found


@pytest.mark.parametrize("codec", Compression)
def test_every_codec_gives_the_same_bytes(codec: Compression) -> None:
    values = [b"a" * 1000, b"b", b"c" * 50_000]
    data = b"".join(batch(value, codec, offset) for offset, value in enumerate(values))
    expected = [(offset, batch(value)[HEADER_BYTES:]) for offset, value in enumerate(values)]
    assert plain(data) == expected


def test_codecs_may_be_mixed() -> None:
    data = b"".join(batch(b"v" * 99, codec, offset) for offset, codec in enumerate(Compression))
    assert [offset for offset, _ in plain(data)] == list(range(len(Compression)))
    assert len({records for _, records in plain(data)}) == 1


def test_markers_and_batches_without_records_are_left_out() -> None:
    marker = build_end_transaction_marker(
        producer_id=1,
        producer_epoch=0,
        commit=True,
        coordinator_epoch=0,
        timestamp=0,
        base_offset=1,
    )
    data = batch(b"v") + marker
    assert [offset for offset, _ in plain(data)] == [0]
    assert plain(marker) == []


@pytest.mark.parametrize("codec", [Compression.LZ4, Compression.ZSTD])
def test_a_batch_larger_than_the_room_gets_more(codec: Compression) -> None:
    large = b"x" * (13 << 20)
    ((_, records),) = plain(batch(large, codec))
    assert len(records) > len(large)


def test_what_is_not_compressed_records_is_told() -> None:
    data = bytearray(batch(b"v" * 1000, Compression.GZIP))
    data[HEADER_BYTES] ^= 0xFF
    with pytest.raises(CorruptRecords):
        plain(bytes(data))
    data[22] = 7
    with pytest.raises(CorruptRecords, match="compression type 7 is unknown"):
        plain(bytes(data))
