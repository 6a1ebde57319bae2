"""Messages and record batches as JSON has them.

Fields have the names of the declarations. Bytes are text where they are UTF-8, and
`{"base64": ...}` where they are not. Records become batches, each with its header and its records.
"""

from __future__ import annotations

import base64
from itertools import islice
from typing import Any, Final, cast
from uuid import UUID

from kafkalite.requests.names import listed
from kafkalite.wire.control_records import read_end_transaction_marker
from kafkalite.wire.errors import KafkaError, ProtocolViolation
from kafkalite.wire.fields import (
    FieldType,
    InMemory,
    records,
    records_chunk,
    required_records_chunk,
)
from kafkalite.wire.record_batch import HEADER_BYTES, MAGIC, Record, RecordBatch, iterate_records
from kafkalite.wire.schema import FIELDS, Field, fields_of

_RECORDS: Final = (records, records_chunk, required_records_chunk)
_MOST_RECORDS: Final = 1000


def message_as_json(message: object, version: int) -> dict[str, Any]:
    """A message, or a struct of one, in the fields that this version has."""
    return {
        field.name: _field(field, getattr(message, field.name), version)
        for field in fields_of(type(message))
        if field.is_in(version)
    }


def _field(field: Field, value: Any, version: int) -> Any:
    if value is not None and isinstance(field.element, FieldType) and field.element in _RECORDS:
        return batches_as_json(value)
    return _value(value, version)


def _value(value: Any, version: int) -> Any:
    several = listed(value)
    if several is not None:
        return [_value(each, version) for each in several]
    if isinstance(value, (bytes, memoryview)):
        text, encoding = shown(bytes(cast("InMemory", value)))
        return text if encoding == "utf-8" else {"base64": text}
    if isinstance(value, UUID):
        return str(value)
    return message_as_json(value, version) if hasattr(value, FIELDS) else value


def shown(data: bytes | None) -> tuple[str | None, str]:
    """Bytes as text, and its encoding: "utf-8" or "base64"."""
    if data is None:
        return None, "utf-8"
    try:
        return data.decode(), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(data).decode(), "base64"


def batches_as_json(data: bytes | memoryview) -> list[dict[str, Any]]:
    """The batches in a field of records. The last one may be cut short, or not be a batch."""
    batches: list[dict[str, Any]] = []
    view = memoryview(data)
    position = 0
    while position < len(view):
        left = len(view) - position
        if not any(view[position : position + HEADER_BYTES]):
            batches.append({"position": position, "problem": f"{left} bytes were not kept"})
            break
        if left < HEADER_BYTES:
            problem = f"{left} bytes, where a batch begins with {HEADER_BYTES}"
            batches.append({"position": position, "problem": problem})
            break
        batch = RecordBatch(view, position)
        batches.append(_batch(batch, position))
        if batch.size_bytes < HEADER_BYTES or batch.size_bytes > left:
            batches[-1]["problem"] = f"a batch of {batch.size_bytes} bytes, and {left} are here"
            break
        position += batch.size_bytes
    return batches


def _batch(batch: RecordBatch, position: int) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "position": position,
        "base_offset": batch.base_offset,
        "batch_length": batch.batch_length,
        "partition_leader_epoch": batch.partition_leader_epoch,
        "magic": batch.magic,
        "crc": batch.crc,
        "attributes": batch.attributes,
        "last_offset_delta": batch.last_offset_delta,
        "base_timestamp": batch.base_timestamp,
        "max_timestamp": batch.max_timestamp,
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "record_count": batch.record_count,
    }
    if len(batch.buffer) < batch.size_bytes or batch.size_bytes < HEADER_BYTES:
        return shown
    if batch.magic != MAGIC:
        return {**shown, "problem": f"magic {batch.magic}, and not {MAGIC}"}
    shown["crc_valid"] = batch.is_valid()
    try:
        shown["compression"] = batch.compression.name.lower()
        shown["timestamp_type"] = batch.timestamp_type.name.lower()
        shown["is_transactional"] = batch.is_transactional
        shown["is_control"] = batch.is_control
        if batch.is_control:
            marker = read_end_transaction_marker(batch)
            shown["marker"] = None if marker is None else marker.control_type.name.lower()
        else:
            shown["records"] = [
                _record(each) for each in islice(iterate_records(batch), _MOST_RECORDS)
            ]
            shown["records_left_out"] = max(0, batch.record_count - _MOST_RECORDS)
    except (KafkaError, ProtocolViolation, ValueError) as error:
        shown["problem"] = str(error)
    return shown


def _record(record: Record) -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        **_named("key", record.key),
        **_named("value", record.value),
        "headers": [{"key": name, **_named("value", value)} for name, value in record.headers],
    }


def _named(name: str, data: bytes | None) -> dict[str, str | None]:
    text, encoding = shown(None if data is None else bytes(data))
    return {name: text} if encoding == "utf-8" else {name: text, f"{name}_encoding": encoding}
