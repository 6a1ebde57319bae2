"""Batches whose check takes long: told from others at once, checked in a thread, then appended."""

from __future__ import annotations

import gc
import struct
import weakref
from typing import Any

import cramjam
import pytest

from kafkalite.log.acceptance import MOST_BRIEF_BYTES, accept
from kafkalite.log.checked_batch import CheckedBatch
from kafkalite.log.config import LogConfig
from kafkalite.log.errors import TakesLong
from kafkalite.log.log import Log
from kafkalite.wire.compression import Compression, compress
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import HEADER_BYTES, Record, build_batch, pack_batch
from kafkalite.wire.stream_decompression import MOST_PARTS
from tests.log.conftest import START_MS

LARGE = LogConfig(max_message_bytes=1 << 30)
CODECS = [codec for codec in Compression if codec]


def large(codec: Compression, size: int = MOST_BRIEF_BYTES) -> bytes:
    """A batch that unfolds to a little more than `size` bytes."""
    return build_batch([Record(timestamp=START_MS, value=bytes(size))], compression=codec)


def many(count: int, **fields: Any) -> bytes:
    return build_batch([Record(timestamp=START_MS, value=b"")] * count, **fields)


@pytest.mark.parametrize("codec", CODECS)
def test_what_unfolds_to_much_takes_long(codec: Compression) -> None:
    records = large(codec)
    with pytest.raises(TakesLong):
        accept(records, LARGE, START_MS, briefly=True)
    assert accept(records, LARGE, START_MS) is not None
    less = large(codec, MOST_BRIEF_BYTES - 100)
    assert accept(less, LARGE, START_MS, briefly=True) is not None


def test_many_records_take_long() -> None:
    assert accept(many(10_000), LARGE, START_MS, briefly=True) is not None
    with pytest.raises(TakesLong):
        accept(many(10_001), LARGE, START_MS, briefly=True)


def test_a_topic_with_a_high_level_of_zstd_takes_long_for_any_batch() -> None:
    for level in (6, 7, 22):
        config = LogConfig(compression_type="zstd", compression_zstd_level=level)
        if level == 6:
            assert accept(many(1), config, START_MS, briefly=True) is None
        else:
            with pytest.raises(TakesLong):
                accept(many(1), config, START_MS, briefly=True)
    # Its batches are taken as they come.
    config = LogConfig(compression_zstd_level=22)
    assert accept(many(1), config, START_MS, briefly=True) is not None


@pytest.mark.parametrize("codec", CODECS)
def test_what_is_refused_is_looked_at_for_longer(codec: Compression) -> None:
    """An offset of its own sends the batch to validation.py."""
    assert accept(many(1000, base_offset=1), LARGE, START_MS, briefly=True) is None
    with pytest.raises(TakesLong):
        accept(many(1001, base_offset=1), LARGE, START_MS, briefly=True)
    # A topic that compresses by itself takes no batch as it came.
    rewriting = LogConfig(max_message_bytes=1 << 30, compression_type="gzip")
    record = Record(timestamp=START_MS, value=bytes(MOST_BRIEF_BYTES))
    with pytest.raises(TakesLong):
        accept(build_batch([record], compression=codec), rewriting, START_MS, briefly=True)


def in_parts(codec: Compression, count: int, **fields: Any) -> bytes:
    """A good batch of one record, compressed in so many parts."""
    plain = build_batch([Record(timestamp=START_MS, value=bytes(6 * MOST_PARTS))])
    data = plain[HEADER_BYTES:]
    size = -(-len(data) // count)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    if codec is Compression.GZIP:
        compressed = b"".join(compress(codec, piece) for piece in pieces)
    elif codec is Compression.SNAPPY:
        first = compress(codec, b"")[:16]
        blocks = [bytes(cramjam.snappy.compress_raw(piece)) for piece in pieces]
        compressed = first + b"".join(struct.pack(">i", len(each)) + each for each in blocks)
    else:
        blocks = [struct.pack("<I", len(each) | 1 << 31) + each for each in pieces]
        compressed = bytes.fromhex("04224d18604082") + b"".join(blocks) + bytes(4)
    numbers = {"base_offset": 0, "last_offset_delta": 0, "record_count": 1, **fields}
    return pack_batch(
        compressed, base_timestamp=START_MS, max_timestamp=START_MS, attributes=codec, **numbers
    )


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.SNAPPY, Compression.LZ4])
@pytest.mark.parametrize("base_offset", [0, 1])
def test_many_parts_take_long(codec: Compression, base_offset: int) -> None:
    """An offset of its own sends the batch to validation.py."""
    many, few = (in_parts(codec, count, base_offset=base_offset) for count in (1536, 1000))
    with pytest.raises(TakesLong):
        accept(many, LARGE, START_MS, briefly=True)
    for accepted in (accept(many, LARGE, START_MS), accept(few, LARGE, START_MS, briefly=True)):
        assert (accepted is not None) is (base_offset == 0)


def checked(log: Log, records: bytes) -> CheckedBatch:
    return CheckedBatch(records, log)


def test_a_checked_batch_is_appended(disk: Any) -> None:
    log = disk.log()
    records = large(Compression.ZSTD)
    with pytest.raises(TakesLong):
        log.append(records, leader_epoch=0, briefly=True)
    assert log.log_end_offset == 0
    batch = checked(log, records)
    batch.check()
    assert log.append(records, leader_epoch=0, briefly=True, checked=batch).last_offset == 0
    assert log.log_end_offset == 1


def test_what_was_found_wrong_is_raised_by_the_append(disk: Any) -> None:
    log = disk.log()
    records = bytearray(many(10_001))
    records[-1] ^= 1
    batch = checked(log, bytes(records))
    batch.check()
    batch.check()
    with pytest.raises(KafkaError) as caught:
        log.append(bytes(records), leader_epoch=0, checked=batch)
    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert log.log_end_offset == 0


@pytest.mark.parametrize("codec", CODECS)
def test_a_refused_batch_leaves_nothing_behind(disk: Any, codec: Compression) -> None:
    """Its memory is free at once: the collector would leave a circle for long."""
    log = disk.log(config=LARGE)
    records = large(codec, 120 << 20)
    gc.collect()
    gc.disable()
    try:
        checked = CheckedBatch(records, log)
        with pytest.raises(KafkaError) as caught:
            log.append(records, leader_epoch=0, checked=checked)
        assert caught.value.code == ErrorCode.MESSAGE_TOO_LARGE
        gone = weakref.ref(checked)
        del caught, checked
        assert gone() is None
    finally:
        gc.enable()
