"""Batches as they are compared: all of a header but its checksum, and the records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkalite.wire.record_batch import NO_TIMESTAMP, RecordBatch, iterate_records

BATCH_HEADER_BYTES = 61
_A_TIME = "a time"


def only_ends_a_segment(batch: RecordBatch) -> bool:
    """True for what kafkalite's cleaner leaves of a segment's last batch, so that no gap follows.

    Apache Kafka's cleaner leaves nothing there, unless its round ends with it (log/compaction.py).
    """
    return not batch.record_count and batch.max_timestamp == NO_TIMESTAMP


def told(batch: RecordBatch, named: Callable[[str, Any], Any]) -> dict[str, Any]:
    """A batch by the names of its fields.

    The cleaner's batches say when what they have may go, which is a time of the broker's own.
    Their records' times are told from there on, so that they are compared one by one.
    """
    has_own_time = batch.is_control or bool(batch.timestamp_type)
    has_horizon = batch.delete_horizon_ms is not None
    is_counted_from_clock = batch.is_control or has_horizon
    return {
        "base_offset": batch.base_offset,
        "size": "any" if has_horizon else batch.size_bytes,
        "leader_epoch": batch.partition_leader_epoch,
        "magic": batch.magic,
        "is_valid": batch.is_valid(),
        "attributes": batch.attributes,
        "last_offset_delta": batch.last_offset_delta,
        "base_timestamp": _A_TIME if is_counted_from_clock else batch.base_timestamp,
        "max_timestamp": _A_TIME if has_own_time else batch.max_timestamp,
        "producer_id": named("producer_id", batch.producer_id),
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "record_count": batch.record_count,
        "records": _records(batch) if has_horizon else _bytes(batch),
    }


def _bytes(batch: RecordBatch) -> str:
    return bytes(batch.buffer[BATCH_HEADER_BYTES:]).hex()


def _records(batch: RecordBatch) -> list[str]:
    return [
        repr(record._replace(timestamp=0) if batch.is_control else record)
        for record in iterate_records(batch)
    ]
