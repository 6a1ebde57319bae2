"""The cleaner's pass over records finds what the reader of records finds."""

import random

import pytest

from kafkalite.log.record_scan import RECORDS_OF_A_PART, ScannedRecord, scan, scanned
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import (
    Record,
    RecordBatch,
    build_batch,
    iterate_records,
    pack_batch,
    records_data,
)


def some_records(count: int, luck: random.Random) -> list[Record]:
    def data() -> bytes | None:
        return luck.choice([None, b"", b"x", luck.randbytes(luck.choice([63, 64, 127, 300, 9000]))])

    return [
        Record(
            timestamp=luck.choice([0, 5, 1 << 20, 1 << 40]),
            key=data(),
            value=data(),
            headers=[("h", data())] * luck.choice([0, 0, 1, 70]),
        )
        for _ in range(count)
    ]


def all_of(batch: RecordBatch, data: bytes) -> list[ScannedRecord]:
    return [record for part in scanned(batch, data) for record in part]


@pytest.mark.parametrize("codec", Compression)
def test_every_record_is_found(codec: Compression) -> None:
    luck = random.Random(codec)
    for count in (1, 2, 63, 64, 65, RECORDS_OF_A_PART, RECORDS_OF_A_PART + 1, 1000):
        batch = RecordBatch(build_batch(some_records(count, luck), compression=codec))
        data = records_data(batch)
        found = all_of(batch, data)
        assert [
            (
                delta,
                batch.base_timestamp + timestamp,
                key,
                None if value < 0 else data[value:value_end],
            )
            for delta, timestamp, key, value, value_end, _, _ in found
        ] == [(r.offset, r.timestamp, r.key, r.value) for r in iterate_records(batch)]
        assert b"".join(data[begin:end] for *_, begin, end in found) == data


def test_a_large_batch_comes_in_parts() -> None:
    batch = RecordBatch(build_batch([Record(key=b"k")] * (2 * RECORDS_OF_A_PART + 3)))
    sizes = [len(part) for part in scanned(batch, records_data(batch))]
    assert sizes == [RECORDS_OF_A_PART, RECORDS_OF_A_PART, 3]


def test_damage_is_noticed() -> None:
    """Every byte with another value: what is found is within the data, or the batch is refused."""
    records = [Record(key=b"key", value=b"v" * 70), Record(key=None, value=None), Record(key=b"")]
    batch = RecordBatch(build_batch(records))
    data = records_data(batch)
    refused = 0
    for i in range(len(data)):
        for byte in (0, 1, 2, 3, 0x7F, 0x80, 0xFE, 0xFF):
            damaged = data[:i] + bytes([byte]) + data[i + 1 :]
            try:
                found = all_of(batch, damaged)
            except KafkaError as error:
                refused += error.code is ErrorCode.INVALID_RECORD
                continue
            assert b"".join(damaged[begin:end] for *_, begin, end in found) == damaged
    assert refused > 50


@pytest.mark.parametrize("length", [2**31 - 1, 2**62, 2**63 - 1, -1, -(2**63)])
@pytest.mark.parametrize("place", ["record", "key", "value"])
def test_huge_lengths(length: int, place: str) -> None:
    zigzag, varint = (length << 1 ^ length >> 63) & (1 << 64) - 1, bytearray()
    while zigzag >= 128:
        varint.append(zigzag & 127 | 128)
        zigzag >>= 7
    varint.append(zigzag)
    body = {
        "record": b"",
        "key": bytes(3) + varint + b"\1\0",
        "value": bytes(3) + b"\1" + varint + b"\0",
    }[place]
    data = bytes(varint) if place == "record" else bytes([2 * len(body)]) + body
    data += bytes(20)
    records: list[ScannedRecord] = []
    if length < 0 and place != "record":  # null
        scan(data, 0, 1, records)
        assert [(record[2], record[3]) for record in records] == [(None, -1)]
    else:
        with pytest.raises(KafkaError):
            scan(data, 0, 1, records)


@pytest.mark.parametrize("more", [-1, 1])
def test_a_wrong_count(more: int) -> None:
    data = records_data(RecordBatch(build_batch([Record(key=b"a"), Record(key=b"b")])))
    fields = {"base_offset": 0, "last_offset_delta": 1, "base_timestamp": 0, "max_timestamp": 0}
    wrong = RecordBatch(pack_batch(data, record_count=2 + more, **fields))
    with pytest.raises(KafkaError, match="premature EOF" if more > 0 else "still remaining"):
        all_of(wrong, data)
