"""Control batches: what a coordinator writes between the data, and consumers skip.

A control batch is a batch with bit 5 of its attributes set; each record's key tells its type:
`version: int16, type: int16`. The markers that end a producer's transaction are the only ones that
partitions of topics hold; their value is `version: int16, coordinator epoch: int32`.
Source: Kafka's ControlRecordType, EndTransactionMarker; KIP-98.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, NamedTuple

from kafkalite.wire.record_batch import (
    NO_LEADER_EPOCH,
    Record,
    RecordBatch,
    build_batch,
    iterate_records,
)
from kafkalite.wire.record_format import invalid_record

CONTROL_KEY: Final = struct.Struct(">hh")
_END_TRANSACTION_VALUE: Final = struct.Struct(">hi")


class ControlRecordType(IntEnum):
    """The second int16 of a control record's key."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTransactionMarker(NamedTuple):
    """The one record of a control batch that ends a producer's transaction in a partition."""

    control_type: ControlRecordType
    coordinator_epoch: int


def build_end_transaction_marker(
    *,
    producer_id: int,
    producer_epoch: int,
    commit: bool,
    coordinator_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    partition_leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """A commit or abort marker (Kafka's EndTransactionMarker, version 0): it takes one offset."""
    control_type = ControlRecordType.COMMIT if commit else ControlRecordType.ABORT
    record = Record(
        timestamp=timestamp,
        key=CONTROL_KEY.pack(0, control_type),
        value=_END_TRANSACTION_VALUE.pack(0, coordinator_epoch),
    )
    return build_batch(
        [record],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        partition_leader_epoch=partition_leader_epoch,
        is_transactional=True,
        is_control=True,
    )


def control_record_type(record: Record) -> ControlRecordType | None:
    """The type of a control batch's record; None for an unknown type.

    Raises:
        KafkaError(INVALID_RECORD): the key is too short to be one.
    """
    if record.key is None or len(record.key) < CONTROL_KEY.size:
        raise invalid_record("Invalid value size found for control record key")
    _, number = CONTROL_KEY.unpack_from(record.key)
    try:
        return ControlRecordType(number)
    except ValueError:
        return None


def read_end_transaction_marker(batch: RecordBatch) -> EndTransactionMarker | None:
    """The marker a control batch holds; None for other control batches and emptied ones.

    Raises:
        KafkaError(INVALID_RECORD): no control record, or one that is cut short.
    """
    record = next(iterate_records(batch), None)
    if record is None:
        return None
    control_type = control_record_type(record)
    if control_type is not ControlRecordType.COMMIT and control_type is not ControlRecordType.ABORT:
        return None
    if record.value is None or len(record.value) < _END_TRANSACTION_VALUE.size:
        raise invalid_record("Invalid value size found for end transaction marker")
    _, coordinator_epoch = _END_TRANSACTION_VALUE.unpack_from(record.value)
    return EndTransactionMarker(control_type, coordinator_epoch)
