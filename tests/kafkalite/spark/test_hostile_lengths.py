"""Lengths that lie, under a right checksum: one sentence, and no memory for what is not there."""

import resource
import struct
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cramjam
import pytest
from crc32c import crc32c

from kafkalite.spark.client import Fetched
from kafkalite.spark.errors import DamagedLog
from kafkalite.spark.network_reader import fetch_partition
from kafkalite.spark.segment_files import list_segments
from kafkalite.spark.segment_reader import read_partition
from kafkalite.wire.compression import Compression
from kafkalite.wire.record_batch import HEADER_BYTES, Record, build_batch
from tests.kafkalite.spark.conftest import TOPIC, DataDirectory

LARGE = (1 << 31) - 1
HUGE = 1 << 40
MOST_BYTES = 64 << 20
GOOD = build_batch([Record(key=b"k", value=b"v" * 50, headers=(("h", b"w"),))])
NEXT = struct.pack(">q", 1) + GOOD[8:]


def varint(number: int) -> bytes:
    left, out = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes(out) + bytes([left])


def record(length: int | None = None, **lies: Any) -> bytes:
    """A record with a header; `lies` are lengths other than those of what is there."""
    told = {"key": 1, "value": 50, "headers": 1, "header_key": 1, "header_value": 1, **lies}
    body = b"\0\0\0" + varint(told["key"]) + b"k" + varint(told["value"]) + b"v" * 50
    body += varint(told["headers"]) + varint(told["header_key"]) + b"h"
    body += varint(told["header_value"]) + b"w"
    return varint(len(body) if length is None else length) + body


def batch(records: bytes, codec: Compression = Compression.NONE, count: int = 1) -> bytes:
    """These bytes as the records of a batch whose length and checksum are right."""
    sealed = struct.pack(">h", codec) + GOOD[23:57] + struct.pack(">i", count) + records
    length = struct.pack(">i", 9 + len(sealed))
    return GOOD[:8] + length + GOOD[12:17] + struct.pack(">I", crc32c(sealed)) + sealed


def of_length(length: int) -> bytes:
    return GOOD[:8] + struct.pack(">i", length) + GOOD[12:]


def zstd_that_tells(size: int) -> bytes:
    """A frame whose header gives a content size of 8 bytes, and one raw block of nothing."""
    return b"\x28\xb5\x2f\xfd" + b"\xe0" + struct.pack("<Q", size) + b"\x01\0\0"


def lz4_that_tells(size: int) -> bytes:
    plain = bytes(cramjam.lz4.compress(b"x" * 100))
    return plain[:4] + b"\x6c\x70" + struct.pack("<Q", size) + plain[6:]


def snappy_that_tells(size: int) -> bytes:
    told = bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14 & 0x7F | 0x80])
    return told + bytes([size >> 21 & 0x7F | 0x80, size >> 28]) + b"\0x"


HOSTILE = {
    "as it should be, to know that the tool is right": batch(record()),
    "a batch of 2 GiB": of_length(LARGE),
    "a batch of less than a header": of_length(HEADER_BYTES - 13),
    "a batch of negative length": of_length(-1),
    "as many records as a number can tell": batch(record(), count=LARGE),
    "one record more": batch(record(), count=2),
    "a record of 2 GiB": batch(record(LARGE)),
    "a record of a tebibyte": batch(record(HUGE)),
    "a record of negative length": batch(record(-2)),
    "a record that reaches into the next batch": batch(record(200)),
    "a length without end": batch(b"\xff" * 80),
    **{
        f"{field} of {told}": batch(record(**{field: told}))
        for field in ("key", "value", "headers", "header_key", "header_value")
        for told in (LARGE, HUGE, -2, (1 << 63) - 1)
        if (field, told) != ("header_value", -2)  # any negative length is a null, there
    },
    "zstd of a tebibyte": batch(zstd_that_tells(HUGE), Compression.ZSTD),
    "lz4 of a tebibyte": batch(lz4_that_tells(HUGE), Compression.LZ4),
    "snappy of 1.9 GiB": batch(snappy_that_tells(1_900 << 20), Compression.SNAPPY),
    "snappy of 4 GiB": batch(snappy_that_tells((1 << 32) - 1), Compression.SNAPPY),
    "xerial snappy with a block of 2 GiB": batch(
        b"\x82SNAPPY\0\0\0\0\1\0\0\0\1" + struct.pack(">i", LARGE) + b"x", Compression.SNAPPY
    ),
    "gzip that is cut short": batch(bytes(cramjam.gzip.compress(b"x" * 9))[:12], Compression.GZIP),
}
SOUND, *LIES = HOSTILE


def from_files(tmp_path: Path, data: bytes) -> int:
    directory = DataDirectory(tmp_path / "data")
    directory.append(GOOD)
    directory.append(NEXT)
    path = directory.stop()
    [segment] = list_segments(path / f"{TOPIC}-0")
    segment.path.write_bytes(data + NEXT)
    found = read_partition(path, TOPIC, 0, 0, 2, include_headers=True)
    return sum(rows.num_rows for rows in found)


def from_network(_: Path, data: bytes) -> int:
    class Client:
        def fetch(self, _: Any, offset: int, **options: Any) -> Fetched:
            answers = {0: data, 1: NEXT}
            return Fetched(memoryview(answers[offset]), 2, 2, 0, [])

        def fetch_ahead(self, _: Any, offset: int, **options: Any) -> None: ...

    client: Any = Client()
    found = fetch_partition(client, (TOPIC, 0), 0, 2, include_headers=True)
    return sum(rows.num_rows for rows in found)


def largest_resident_bytes() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@pytest.fixture
def little_memory() -> Iterator[None]:
    before = largest_resident_bytes()
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
        assert largest_resident_bytes() - before < MOST_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("read", [from_files, from_network])
def test_the_tool_makes_what_can_be_read(read: Any, tmp_path: Path) -> None:
    assert read(tmp_path, HOSTILE[SOUND]) == 2


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("read", [from_files, from_network])
@pytest.mark.parametrize("lie", LIES)
def test_a_length_that_lies(lie: str, read: Any, tmp_path: Path) -> None:
    with pytest.raises(DamagedLog) as refused:
        read(tmp_path, HOSTILE[lie])
    said = str(refused.value)
    assert f"{TOPIC}-0" in said
    assert "\n" not in said
    assert len(said) < 400 + len(str(tmp_path)), said
