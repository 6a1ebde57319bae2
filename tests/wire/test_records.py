"""Record batches: the header, the records, the codecs; with aiokafka's reader and writer as
referee."""

import gzip
import struct
from collections.abc import Sequence

import cramjam
import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.wire.compression import Compression, DecompressionError, compress, decompress
from kafkalite.wire.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
    control_record_type,
    read_end_transaction_marker,
)
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
from kafkalite.wire.record_format import read_varint, write_varint

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


def test_a_record_of_known_bytes() -> None:
    """Bytes worked out by hand from the format's description."""
    batch = build_batch([Record(timestamp=1000, key=b"k", value=None, headers=[("h", b"v")])])
    #     length 11 as zigzag, attributes, ts 0, offset 0, key 1 'k', value -1, one header
    assert batch[HEADER_BYTES:] == bytes([22, 0, 0, 0, 2, 0x6B, 1, 2, 2, 0x68, 2, 0x76])
    assert struct.unpack(">qiib", batch[:17]) == (0, len(batch) - 12, -1, 2)


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_varints(value: int) -> None:
    output = bytearray()
    write_varint(output, value)
    assert len(output) <= 10
    assert read_varint(bytes(output), 0) == (value, len(output))


def test_a_varint_that_never_ends_is_refused() -> None:
    with pytest.raises(KafkaError) as caught:
        read_varint(b"\xff" * 11, 0)
    assert caught.value.code == ErrorCode.INVALID_RECORD


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


def test_markers() -> None:
    batch = only_batch(
        build_end_transaction_marker(
            producer_id=9, producer_epoch=3, commit=False, coordinator_epoch=12, timestamp=50
        )
    )
    assert batch.is_control
    assert batch.is_transactional
    assert (batch.attributes, batch.base_sequence, batch.record_count) == (0x30, -1, 1)
    assert read_end_transaction_marker(batch) == EndTransactionMarker(ControlRecordType.ABORT, 12)
    [record] = iterate_records(batch)
    assert record.key == b"\0\0\0\0"
    assert record.value == b"\0\0\0\0\0\x0c"


def test_other_control_records_are_no_markers() -> None:
    key = struct.pack(">hh", 0, 2)
    assert control_record_type(Record(key=key)) is ControlRecordType.LEADER_CHANGE
    assert control_record_type(Record(key=struct.pack(">hh", 0, 99))) is None
    leader_change = build_batch([Record(key=key, value=b"")], is_control=True)
    assert read_end_transaction_marker(RecordBatch(leader_change)) is None
    assert read_end_transaction_marker(RecordBatch(build_batch([], last_offset=0))) is None
    with pytest.raises(KafkaError):
        control_record_type(Record(key=b"\0"))


CODECS = [codec for codec in Compression if codec]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size", [0, 1, 40_000, 300_000])
def test_codecs_round_trip(codec: Compression, size: int) -> None:
    data = (b"kafkalite " * (size // 10 + 1))[:size]
    assert decompress(codec, compress(codec, data)) == data
    assert decompress(codec, memoryview(compress(codec, data))) == data


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_is_refused(codec: Compression) -> None:
    bomb = compress(codec, bytes(2_000_000))
    assert len(bomb) < 100_000
    with pytest.raises(DecompressionError):
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


def test_gzip_members_may_follow_one_another() -> None:
    assert decompress(Compression.GZIP, gzip.compress(b"a") + gzip.compress(b"b")) == b"ab"


def test_lz4_blocks_are_independent() -> None:
    """Kafka's Java reader refuses a frame whose block independence flag (bit 5 of FLG) is not
    set."""
    frame = compress(Compression.LZ4, b"x" * 100)
    assert frame[:4] == bytes.fromhex("04224d18")
    assert frame[4] & 0x20
