"""Apache Kafka reads the record batches that we build, in every codec, and we read those that it
builds."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.harness.messages import few
from conformance.harness.referee import Referee, RefereeRefuses
from kafkalite.wire.compression import Compression
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.record_batch import (
    Record,
    RecordBatch,
    TimestampType,
    build_batch,
    iterate_batches,
    iterate_records,
)

FIELDS = (
    *("base_offset", "last_offset", "max_timestamp", "timestamp_type", "compression"),
    *("producer_id", "producer_epoch", "base_sequence", "last_sequence", "record_count"),
    *("partition_leader_epoch", "is_transactional", "is_control", "size_bytes"),
)
# Sizes about which varints and the blocks of codecs change; long runs that compress well.
BYTES = st.none() | st.one_of(
    st.binary(max_size=9),
    st.sampled_from([b"", b"a" * 63, b"b" * 64, b"c" * 8191, b"d" * 8192, bytes(range(256)) * 300]),
)
RECORDS = st.lists(
    st.builds(
        Record,
        timestamp=st.integers(0, 1 << 45),
        key=BYTES,
        value=BYTES,
        headers=st.lists(st.tuples(st.text(max_size=5), BYTES), max_size=2).map(tuple),
    ),
    min_size=1,
    max_size=12,
)


def seen(batch: RecordBatch) -> dict[str, Any]:
    """A batch as the referee describes one."""
    described = {name: getattr(batch, name) for name in FIELDS}
    described["records"] = [
        [each.offset, each.timestamp, text(each.key), text(each.value), headers_of(each)]
        for each in iterate_records(batch)
    ]
    return described


def headers_of(record: Record) -> list[list[str | None]]:
    return [[key, text(value)] for key, value in record.headers]


def text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def only(data: bytes) -> RecordBatch:
    [batch] = iterate_batches(data)
    assert batch.is_valid()
    return batch


@pytest.mark.parametrize("codec", Compression, ids=lambda codec: codec.name)
@few
@given(
    records=RECORDS,
    base_offset=st.sampled_from([0, 7, 1 << 40]),
    producer=st.sampled_from([(-1, -1, -1, False), (41, 2, 5, False), (41, 2, 0x7FFFFFFF, True)]),
)
def test_kafka_and_we_read_each_other(
    kafka: Referee,
    codec: Compression,
    records: list[Record],
    base_offset: int,
    producer: tuple[int, int, int, bool],
) -> None:
    producer_id, producer_epoch, base_sequence, is_transactional = producer
    built = build_batch(
        records,
        base_offset=base_offset,
        compression=codec,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
        partition_leader_epoch=9,
    )
    theirs, written = kafka.ask(":batch", codec, built)
    assert theirs == seen(only(built))
    assert [each[1:4] for each in theirs["records"]] == [
        [each.timestamp, text(each.key), text(each.value)] for each in records
    ]
    again, ours = seen(only(written)), seen(only(built))
    for described in (again, ours):
        del described["size_bytes"]  # two compressors differ
    assert again == ours
    if codec is Compression.NONE:
        assert written == built


@pytest.mark.parametrize("codec", Compression, ids=lambda codec: codec.name)
def test_large_batches(kafka: Referee, codec: Compression) -> None:
    """Data of several blocks in each codec's framing."""
    records = [Record(0, index, b"%d" % index, bytes([index % 251]) * 997) for index in range(900)]
    built = build_batch(records, compression=codec)
    theirs, written = kafka.ask(":batch", codec, built)
    assert theirs == seen(only(built))
    assert seen(only(written))["records"] == theirs["records"]


def test_the_brokers_timestamp(kafka: Referee) -> None:
    records = [Record(timestamp=5, value=b"a"), Record(timestamp=6, value=b"b")]
    built = build_batch(
        records, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time_ms=77
    )
    theirs, written = kafka.ask(":batch", 0, built)
    assert theirs == seen(only(built))
    assert [each[1] for each in theirs["records"]] == [77, 77]
    assert seen(only(written))["records"] == theirs["records"]


@pytest.mark.parametrize("commit", [True, False])
def test_transaction_markers(kafka: Referee, commit: bool) -> None:
    built = build_end_transaction_marker(
        producer_id=41, producer_epoch=2, commit=commit, coordinator_epoch=3, timestamp=5
    )
    theirs, _ = kafka.ask(":batch", 0, built)
    assert theirs == seen(only(built))
    assert theirs["is_control"]
    assert theirs["is_transactional"]


@pytest.mark.parametrize("position", [17, 21, 30, 57, 61, 66])
def test_what_kafka_refuses_we_refuse(kafka: Referee, position: int) -> None:
    damaged = bytearray(build_batch([Record(timestamp=5, key=b"k", value=b"v")]))
    damaged[position] ^= 1
    [batch] = iterate_batches(damaged)
    assert not batch.is_valid()
    with pytest.raises(RefereeRefuses, match="CorruptRecordException"):
        kafka.ask(":batch", 0, bytes(damaged))
