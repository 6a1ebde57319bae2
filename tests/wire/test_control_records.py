"""Control records: the markers that end transactions, and records that are none."""

import struct

import pytest

from kafkalite.wire.control_records import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
    control_record_type,
    read_end_transaction_marker,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import (
    Record,
    RecordBatch,
    build_batch,
    iterate_batches,
    iterate_records,
)


@pytest.mark.parametrize("commit", [True, False])
def test_markers(commit: bool) -> None:
    marker = build_end_transaction_marker(
        producer_id=9,
        producer_epoch=3,
        commit=commit,
        coordinator_epoch=12,
        timestamp=50,
        base_offset=7,
        partition_leader_epoch=4,
    )
    [batch] = iterate_batches(marker)
    assert (batch.producer_id, batch.producer_epoch, batch.max_timestamp) == (9, 3, 50)
    assert (batch.base_offset, batch.last_offset, batch.partition_leader_epoch) == (7, 7, 4)
    assert batch.is_control
    assert batch.is_transactional
    assert (batch.attributes, batch.base_sequence, batch.record_count) == (0x30, -1, 1)
    assert read_end_transaction_marker(batch) == EndTransactionMarker(ControlRecordType(commit), 12)
    [record] = iterate_records(batch)
    assert record.key == bytes([0, 0, 0, commit])
    assert record.value == b"\0\0\0\0\0\x0c"


def test_other_control_records_are_no_markers() -> None:
    key = struct.pack(">hh", 0, 2)
    assert control_record_type(Record(key=key)) is ControlRecordType.LEADER_CHANGE
    assert control_record_type(Record(key=struct.pack(">hh", 0, 99))) is None
    leader_change = build_batch([Record(key=key, value=b"")], is_control=True)
    assert read_end_transaction_marker(RecordBatch(leader_change)) is None
    assert read_end_transaction_marker(RecordBatch(build_batch([], last_offset=0))) is None


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0"])
def test_a_key_that_is_too_short_is_refused(key: bytes | None) -> None:
    with pytest.raises(KafkaError) as caught:
        control_record_type(Record(key=key))
    assert caught.value.code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("value", [None, b"\0\0\0\0\0"])
def test_a_marker_without_its_coordinator_epoch_is_refused(value: bytes | None) -> None:
    record = Record(key=struct.pack(">hh", 0, ControlRecordType.COMMIT), value=value)
    with pytest.raises(KafkaError, match="end transaction marker"):
        read_end_transaction_marker(RecordBatch(build_batch([record], is_control=True)))
