"""Record batches: the header and the records; aiokafka's reader and writer are the referee."""

import struct
from collections.abc import Sequence

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import (
    HEADER_BYTES,
    Record,
    RecordBatch,
    TimestampType,
    build_batch,
    increment_sequence,
    iterate_batches,
    iterate_records,
)

HEADERS = st.lists(
    st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=9)), max_size=3
).map(tuple)
RECORDS = st.lists(
    st.builds(
        Record,
        timestamp=st.integers(min_value=0, max_value=2**45),
        key=st.none() | st.binary(max_size=200),
        value=st.none() | st.binary(max_size=200),
        headers=HEADERS,
    ),
    min_size=1,
    max_size=20,
)


def numbered(records: Sequence[Record], base_offset: int = 0) -> list[Record]:
    return [record._replace(offset=base_offset + i) for i, record in enumerate(records)]


def only_batch(data: bytes) -> RecordBatch:
    [batch] = iterate_batches(data)
    return batch


@given(RECORDS, st.sampled_from(Compression))
def test_what_is_built_is_read_back(records: list[Record], codec: Compression) -> None:
    batch = only_batch(build_batch(records, base_offset=7, compression=codec))
    assert batch.is_valid()
    assert batch.compression is codec
    assert batch.record_count == len(records)
    assert (batch.base_offset, batch.last_offset) == (7, 6 + len(records))
    assert batch.max_timestamp == max(record.timestamp for record in records)
    assert list(iterate_records(batch)) == numbered(records, 7)


@pytest.mark.slow
@given(RECORDS, st.sampled_from(Compression))
def test_aiokafka_reads_what_we_build(records: list[Record], codec: Compression) -> None:
    memory = MemoryRecords(build_batch(records, base_offset=3, compression=codec))
    theirs = memory.next_batch()
    assert theirs is not None
    assert theirs.validate_crc()
    assert [
        Record(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in theirs
    ] == numbered(records, 3)


@given(RECORDS, st.sampled_from(Compression))
def test_we_read_what_aiokafka_builds(records: list[Record], codec: Compression) -> None:
    builder = DefaultRecordBatchBuilder(2, codec, True, 41, 2, 5, 1 << 20)
    for i, record in enumerate(records):
        builder.append(i, record.timestamp, record.key, record.value, list(record.headers))
    batch = only_batch(bytes(builder.build()))
    assert batch.is_valid()
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (41, 2, 5)
    assert batch.is_transactional
    assert not batch.is_control
    assert list(iterate_records(batch)) == numbered(records)


def test_a_header_of_known_bytes() -> None:
    """The 61 bytes, field by field, as Kafka's DefaultRecordBatch lays them out."""
    records = [Record(timestamp=1000), Record(timestamp=1500), Record(timestamp=1200)]
    data = build_batch(
        records,
        base_offset=7,
        compression=Compression.ZSTD,
        producer_id=41,
        producer_epoch=2,
        base_sequence=5,
        partition_leader_epoch=9,
        is_transactional=True,
    )
    assert struct.unpack(">qiib", data[:17]) == (7, len(data) - 12, 9, 2)
    assert struct.unpack(">hiqqqhii", data[21:61]) == (0x14, 2, 1000, 1500, 41, 2, 5, 3)
    assert struct.unpack(">I", data[17:21]) == (crc32c(data[21:]),)


def test_a_batch_with_a_delete_horizon() -> None:
    """KIP-534: the horizon stands in place of the base timestamp; deltas count from it."""
    records = [Record(timestamp=1000), Record(timestamp=1500)]
    batch = only_batch(build_batch(records, delete_horizon_ms=9000))
    assert (batch.delete_horizon_ms, batch.max_timestamp) == (9000, 1500)
    assert [record.timestamp for record in iterate_records(batch)] == [1000, 1500]
    assert only_batch(build_batch(records)).delete_horizon_ms is None


def test_a_damaged_batch_is_told_with_both_checksums() -> None:
    data = bytearray(build_batch([Record(value=b"value")]))
    RecordBatch(data).ensure_valid()
    data[-2] ^= 1
    batch = RecordBatch(data)
    with pytest.raises(KafkaError, match=f"stored crc = {batch.crc}, computed crc = ") as caught:
        batch.ensure_valid()
    assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


def test_log_append_time_is_every_records_time() -> None:
    batch = only_batch(
        build_batch(
            [Record(timestamp=5), Record(timestamp=9)],
            timestamp_type=TimestampType.LOG_APPEND_TIME,
            log_append_time_ms=77,
        )
    )
    assert batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp for record in iterate_records(batch)] == [77, 77]


def test_holes_and_the_last_offset_are_kept() -> None:
    records = [Record(offset=12, key=b"a"), Record(offset=17, key=b"b")]
    batch = only_batch(build_batch(records, base_offset=10, keep_offsets=True, last_offset=20))
    assert (batch.base_offset, batch.last_offset, batch.record_count) == (10, 20, 2)
    assert list(iterate_records(batch)) == records


def test_an_empty_batch_keeps_its_offsets() -> None:
    batch = only_batch(build_batch([], base_offset=10, last_offset=14, producer_id=3))
    assert (batch.base_offset, batch.last_offset, batch.record_count) == (10, 14, 0)
    assert list(iterate_records(batch)) == []


@pytest.mark.parametrize("cut", [1, 12, 60, 61, 70])
def test_a_batch_cut_short_is_left_out(cut: int) -> None:
    whole = build_batch([Record(value=b"x" * 30)])
    assert [b.size_bytes for b in iterate_batches(whole + whole[:cut])] == [len(whole)]


@pytest.mark.parametrize("length", [-1, 0, 48])
def test_a_length_below_the_header_is_corrupt(length: int) -> None:
    data = bytearray(build_batch([Record()]))
    struct.pack_into(">i", data, 8, length)
    with pytest.raises(KafkaError) as caught:
        list(iterate_batches(data))
    assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


def test_every_byte_under_the_checksum_counts() -> None:
    data = build_batch([Record(key=b"key", value=b"value")])
    for position in range(len(data)):
        if 8 <= position < 12:
            continue  # the length: what is read then is another batch
        changed = bytearray(data)
        changed[position] ^= 1
        assert RecordBatch(changed).is_valid() is (position < 17)


def lying(data: bytes, position: int, layout: str, value: int) -> RecordBatch:
    changed = bytearray(data)
    struct.pack_into(layout, changed, position, value)
    return RecordBatch(changed)


@pytest.mark.parametrize("count", [1, 3, 2**31 - 1])
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_a_count_that_lies_is_found(count: int, codec: Compression) -> None:
    data = build_batch([Record(value=b"a"), Record(value=b"b")], compression=codec)
    with pytest.raises(KafkaError) as caught:
        list(iterate_records(lying(data, 57, ">i", count)))
    assert caught.value.code == ErrorCode.INVALID_RECORD


def outcome(batch: RecordBatch) -> ErrorCode | None:
    try:
        list(iterate_records(batch))
    except KafkaError as error:
        return error.code
    return None


@given(st.data())
def test_any_garbage_in_the_records_is_an_error_of_ours(data: st.DataObject) -> None:
    whole = bytearray(build_batch([Record(key=b"key", value=b"v", headers=[("h", b"x")])] * 3))
    position = data.draw(st.integers(HEADER_BYTES, len(whole) - 1))
    whole[position] = data.draw(st.integers(0, 255))
    assert outcome(RecordBatch(whole)) in (None, ErrorCode.INVALID_RECORD)


def test_unknown_codec_is_corrupt() -> None:
    batch = lying(build_batch([Record()]), 21, ">h", 6)
    with pytest.raises(KafkaError) as caught:
        list(iterate_records(batch))
    assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


def test_sequences_wrap() -> None:
    assert increment_sequence(2**31 - 1, 1) == 0
    assert increment_sequence(2**31 - 3, 5) == 2
    assert RecordBatch(build_batch([Record()])).last_sequence == -1
