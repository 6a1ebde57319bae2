"""The batches that a leader refuses, the codes and their order; and the bytes it writes."""

import struct
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.log.accepted_batch import AcceptedBatch
from kafkalite.log.append_info import AppendOrigin
from kafkalite.log.config import LogConfig
from kafkalite.log.errors import InvalidRecordsError
from kafkalite.log.validation import validate
from kafkalite.wire.compression import Compression, compress
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import (
    Record,
    RecordBatch,
    TimestampType,
    build_batch,
    iterate_records,
    pack_batch,
)
from kafkalite.wire.record_format import MOST_HEADERS, write_record
from tests.log.very_many import FIRST_RECORD, MANY, longest_wait, record_with_headers

NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000


def check(
    records: bytes, config: LogConfig | None = None, origin: AppendOrigin = AppendOrigin.CLIENT
) -> AcceptedBatch:
    return validate(records, config or LogConfig(), name="t-0", origin=origin, now_ms=NOW_MS)


def written(accepted: AcceptedBatch) -> RecordBatch:
    head = struct.pack(">qiibI", 1000, accepted.size_bytes - 12, 5, 2, accepted.crc)
    data = head + accepted.under_crc
    assert len(data) == accepted.size_bytes
    return RecordBatch(data)


def refused(records: bytes, config: LogConfig | None = None) -> KafkaError:
    with pytest.raises(KafkaError) as caught:
        check(records, config)
    return caught.value


def batch(*keys: bytes | None, timestamp: int = NOW_MS, **fields: Any) -> bytes:
    return build_batch([Record(timestamp=timestamp, key=key, value=b"v") for key in keys], **fields)


def patched(data: bytes, *changes: tuple[int, str, int], redo_crc: bool = True) -> bytes:
    changed = bytearray(data)
    for position, layout, value in changes:
        struct.pack_into(layout, changed, position, value)
    if redo_crc:
        struct.pack_into(">I", changed, 17, RecordBatch(changed).computed_crc())
    return bytes(changed)


GOOD = batch(b"k", b"l", b"m")
BASE_OFFSET = (0, ">q", 1)
BAD_CRC = (17, ">I", 1)

SHAPES = {
    "nothing": (b"", ErrorCode.INVALID_RECORD),
    "half a header": (GOOD[:40], ErrorCode.INVALID_RECORD),
    "cut short": (GOOD[:-1], ErrorCode.INVALID_RECORD),
    "two batches": (GOOD + GOOD, ErrorCode.INVALID_RECORD),
    "magic 1": (patched(GOOD, (16, ">b", 1)), ErrorCode.INVALID_RECORD),
    "magic 0": (patched(GOOD, (16, ">b", 0)), ErrorCode.INVALID_RECORD),
    "magic 3": (patched(GOOD, (16, ">b", 3)), ErrorCode.CORRUPT_MESSAGE),
    "magic -1": (patched(GOOD, (16, ">b", -1)), ErrorCode.CORRUPT_MESSAGE),
    "length 0": (patched(GOOD, (8, ">i", 0), redo_crc=False), ErrorCode.CORRUPT_MESSAGE),
    "length < 0": (patched(GOOD, (8, ">i", -5), redo_crc=False), ErrorCode.CORRUPT_MESSAGE),
    "base offset": (patched(GOOD, BASE_OFFSET), ErrorCode.INVALID_RECORD),
    "crc": (patched(GOOD, BAD_CRC, redo_crc=False), ErrorCode.CORRUPT_MESSAGE),
    "count 0": (patched(GOOD, (57, ">i", 0)), ErrorCode.INVALID_RECORD),
    "count 2": (patched(GOOD, (57, ">i", 2)), ErrorCode.INVALID_RECORD),
    "delta < 0": (patched(GOOD, (23, ">i", -1)), ErrorCode.INVALID_RECORD),
    "many that cannot fit": (
        patched(GOOD, (57, ">i", 10**6), (23, ">i", 10**6 - 1)),
        ErrorCode.INVALID_RECORD,
    ),
    "codec 5": (patched(GOOD, (21, ">h", 5)), ErrorCode.UNKNOWN_SERVER_ERROR),
    "control": (batch(b"k", is_control=True), ErrorCode.INVALID_RECORD),
    "empty": (build_batch([], last_offset=0), ErrorCode.INVALID_RECORD),
    "producer without sequence": (
        batch(b"k", producer_id=1, producer_epoch=0),
        ErrorCode.INVALID_RECORD,
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_that_are_refused(shape: str) -> None:
    records, code = SHAPES[shape]
    assert refused(records).code == code


def test_the_order_of_checks() -> None:
    """Base offset, then size, then checksum, then the header, as Kafka goes."""
    small = LogConfig(max_message_bytes=len(GOOD) - 1)
    all_wrong = patched(GOOD, BASE_OFFSET, (57, ">i", 0), BAD_CRC, redo_crc=False)
    assert "baseOffset" in str(refused(all_wrong, small).message)
    all_but_offset = patched(GOOD, (57, ">i", 0), BAD_CRC, redo_crc=False)
    assert refused(all_but_offset, small).code == ErrorCode.MESSAGE_TOO_LARGE
    assert refused(all_but_offset).code == ErrorCode.CORRUPT_MESSAGE
    assert check(GOOD, LogConfig(max_message_bytes=len(GOOD))).size_bytes == len(GOOD)


def test_what_is_cut_short_behind_the_batch_is_left_out() -> None:
    assert written(check(GOOD + GOOD[:30])).size_bytes == len(GOOD)


@given(st.binary(max_size=100), st.integers(0, len(GOOD) - 1), st.integers(0, 255))
def test_garbage_gets_a_code(tail: bytes, position: int, byte: int) -> None:
    changed = bytearray(GOOD)
    changed[position] = byte
    for records in (tail, bytes(changed) + tail, GOOD + tail):
        try:
            validated = check(records)
        except KafkaError:
            continue
        assert written(validated).is_valid()


@pytest.mark.parametrize("codec", Compression)
def test_the_producers_bytes_are_kept(codec: Compression) -> None:
    sent = batch(b"k", b"l", compression=codec)
    validated = check(sent)
    result = written(validated)
    assert (result.base_offset, result.partition_leader_epoch) == (1000, 5)
    assert bytes(result.buffer[16:]) == sent[16:]
    assert (validated.last_offset_delta, validated.log_append_time_ms) == (1, -1)


@pytest.mark.parametrize("codec", Compression)
def test_log_append_time_is_stamped(codec: Compression) -> None:
    config = LogConfig(message_timestamp_type="LogAppendTime")
    far_ahead = batch(b"k", b"l", timestamp=NOW_MS * 2, compression=codec)
    validated = check(far_ahead, config)
    result = written(validated)
    assert result.is_valid()
    assert result.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp for record in iterate_records(result)] == [NOW_MS, NOW_MS]
    assert (validated.log_append_time_ms, validated.max_timestamp) == (NOW_MS, NOW_MS)


def test_a_client_must_not_stamp() -> None:
    stamped = batch(b"k", timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time_ms=NOW_MS)
    error = refused(stamped, LogConfig(message_timestamp_type="LogAppendTime"))
    assert error.code == ErrorCode.INVALID_TIMESTAMP
    # With CreateTime, Kafka takes it for what it is worth and unsets the flag.
    result = written(check(stamped))
    assert result.is_valid()
    assert result.timestamp_type is TimestampType.CREATE_TIME


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.GZIP])
def test_times_beyond_the_end_of_time_wrap(codec: Compression) -> None:
    """Java's numbers do: such a time is long ago, and younger than a limit at the end of time."""
    end = 2**63 - 1
    records = bytearray()
    for offset, delta in enumerate((0, 7, 0)):
        write_record(records, delta, offset, None, b"v", [])
    sent = pack_batch(
        compress(codec, bytes(records)),
        base_offset=0,
        last_offset_delta=2,
        record_count=3,
        base_timestamp=end,
        max_timestamp=-1,
        attributes=codec,
    )
    assert check(sent, LogConfig(message_timestamp_after_max_ms=end)).max_timestamp == end
    assert refused(sent).code is ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize(
    ("timestamp", "config", "is_good"),
    [
        (NOW_MS + HOUR_MS, LogConfig(), True),
        (NOW_MS + HOUR_MS + 1, LogConfig(), False),
        (0, LogConfig(), True),
        (-1, LogConfig(), True),
        (NOW_MS - 1000, LogConfig(message_timestamp_before_max_ms=1000), True),
        (NOW_MS - 1001, LogConfig(message_timestamp_before_max_ms=1000), False),
        (-1, LogConfig(message_timestamp_before_max_ms=1000), True),
    ],
)
def test_create_time_has_limits(timestamp: int, config: LogConfig, is_good: bool) -> None:
    records = build_batch(
        [Record(timestamp=NOW_MS), Record(timestamp=timestamp), Record(timestamp=NOW_MS)]
    )
    if is_good:
        check(records, config)
        return
    error = refused(records, config)
    assert error.code == ErrorCode.INVALID_TIMESTAMP
    assert isinstance(error, InvalidRecordsError)
    assert [wrong.batch_index for wrong in error.record_errors] == [1]


@pytest.mark.parametrize("codec", Compression)
def test_a_compacted_topic_needs_keys(codec: Compression) -> None:
    config = LogConfig(cleanup_policy=("compact",))
    check(batch(b"k", b"", compression=codec), config)
    error = refused(batch(b"k", None, b"m", None, compression=codec), config)
    assert error.code == ErrorCode.INVALID_RECORD
    assert isinstance(error, InvalidRecordsError)
    assert [wrong.batch_index for wrong in error.record_errors] == [1, 3]
    assert str(error.message).startswith("One or more records have been rejected due to 2 record")


@pytest.mark.slow
@pytest.mark.parametrize("compression_type", ["producer", "gzip"])
@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.LZ4, Compression.ZSTD])
def test_a_bomb_is_refused(codec: Compression, compression_type: str) -> None:
    sent = build_batch([Record(timestamp=NOW_MS, value=bytes(120 << 20))], compression=codec)
    assert len(sent) < 1_000_000
    config = LogConfig(compression_type=compression_type)
    assert refused(sent, config).code == ErrorCode.MESSAGE_TOO_LARGE


def test_coordinators_may_write_markers_and_are_trusted_with_the_rest() -> None:
    control = batch(b"k", is_control=True)
    assert written(check(control, origin=AppendOrigin.COORDINATOR)).is_control
    with pytest.raises(KafkaError):
        check(patched(GOOD, BAD_CRC, redo_crc=False), origin=AppendOrigin.COORDINATOR)


def of_very_many(data: bytes, count: int, codec: Compression = Compression.NONE) -> bytes:
    return pack_batch(
        compress(codec, data, None),
        base_offset=0,
        last_offset_delta=count - 1,
        record_count=count,
        base_timestamp=NOW_MS,
        max_timestamp=NOW_MS,
        attributes=codec,
    )


@pytest.mark.parametrize("compression_type", ["producer", "gzip"])
def test_very_many_odd_records_take_no_memory(compression_type: str) -> None:
    """They have all the same offset, and are kept, or rewritten."""
    count = 50_000
    records = of_very_many(FIRST_RECORD * count, count, Compression.ZSTD)
    config = LogConfig(compression_type=compression_type)
    tracemalloc.start()
    try:
        with suppress(KafkaError):
            check(records, config)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * count * len(FIRST_RECORD)


def test_other_threads_run_while_very_many_headers_are_read() -> None:
    """The record has another offset than the first, so that it is read field by field."""
    data = record_with_headers(MANY, offset_delta=1)
    records = of_very_many(data, 1, Compression.ZSTD)

    def read() -> None:
        with suppress(KafkaError):
            check(records)

    assert longest_wait(read) < 0.5


def test_errors_of_very_many_records_are_counted_and_not_all_kept() -> None:
    count = 100_001
    records = of_very_many(FIRST_RECORD * count, count, Compression.ZSTD)
    error = refused(records, LogConfig(cleanup_policy=("compact",)))
    assert isinstance(error, InvalidRecordsError)
    assert len(error.record_errors) == count - 1
    assert f"rejected due to {count} record errors in total" in str(error.message)


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
@pytest.mark.parametrize("compression_type", ["producer", "gzip"])
def test_a_record_may_have_so_many_headers(codec: Compression, compression_type: str) -> None:
    config = LogConfig(compression_type=compression_type, max_message_bytes=10_000_000)
    fitting = of_very_many(record_with_headers(MOST_HEADERS), 1, codec)
    assert check(fitting, config).record_count == 1
    error = refused(of_very_many(record_with_headers(MOST_HEADERS + 1), 1, codec), config)
    assert error.code is ErrorCode.MESSAGE_TOO_LARGE
    assert error.message == "A record has 1048577 headers, and may have 1048576"
