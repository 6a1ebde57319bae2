"""Arrow columns out of the bytes of batches.

Keys and values are not cut out one by one: one Arrow array over the whole buffer has an element for
every key, every value and all that lies between them, and `take` copies every fourth of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalite.spark.schema import HEADERS_TYPE, record_schema
from kafkalite.spark.vectorized_records import (
    CorruptRecords,
    Records,
    by_pair,
    new_edges,
    read_records,
    read_varints,
)
from kafkalite.wire.record_batch import LOG_APPEND_TIME_FLAG

# Beyond it, on either side of 1970, a timestamp in milliseconds does not fit Spark's microseconds.
MAX_TIMESTAMP_MS = (2**63 - 1) // 1000


class TimestampTooFar(CorruptRecords):
    """Sound records, but a time among them is none for Spark."""


class Unfolded(NamedTuple):
    """Batches whose records lie plain in `data`: what `decode` reads.

    `fields` are the batches' headers (HEADER_DTYPE).
    """

    data: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    fields: np.ndarray


def decode(
    batches: Unfolded, topic: str, partition: int, *, include_headers: bool
) -> pa.RecordBatch:
    """All records of the batches, in their order, as rows of Spark's Kafka source.

    Raises CorruptRecords.
    """
    fields = batches.fields
    counts = fields["record_count"].astype(np.int64)
    records = read_records(batches.data, batches.starts, batches.ends, counts)
    total = len(records.ends)
    buffer = pa.py_buffer(batches.data)
    stamped = (fields["attributes"] & LOG_APPEND_TIME_FLAG) != 0
    keys, values = _keys_and_values(buffer, records)
    columns = [
        keys,
        values,
        pa.repeat(pa.scalar(topic, pa.string()), total),
        pa.repeat(pa.scalar(partition, pa.int32()), total),
        _plain(_offsets(fields, counts, records), pa.int64()),
        _plain(_timestamps(fields, counts, records, stamped), pa.timestamp("us", tz="UTC")),
        _plain(np.repeat(stamped.astype(np.int32), counts), pa.int32()),
    ]
    if include_headers:
        columns.append(_headers(batches.data, buffer, records))
    return pa.RecordBatch.from_arrays(columns, schema=record_schema(include_headers))


def _plain(values: np.ndarray, kind: pa.DataType) -> pa.Array:
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(values)])


def _offsets(fields: np.ndarray, counts: np.ndarray, records: Records) -> np.ndarray:
    base = np.repeat(fields["base_offset"].astype(np.int64), counts)
    return base + records.offset_deltas


def _timestamps(
    fields: np.ndarray, counts: np.ndarray, records: Records, stamped: np.ndarray
) -> np.ndarray:
    """In microseconds. A broker's stamp is the batch's largest timestamp."""
    base = np.where(stamped, fields["max_timestamp"], fields["base_timestamp"]).astype(np.int64)
    deltas = records.timestamp_deltas
    if stamped.any():
        deltas = np.where(np.repeat(stamped, counts), 0, deltas)
    milliseconds = np.repeat(base, counts) + deltas
    too_far = (milliseconds > MAX_TIMESTAMP_MS) | (milliseconds < -MAX_TIMESTAMP_MS)
    if too_far.any():
        found = milliseconds[np.argmax(too_far)]
        raise TimestampTooFar(f"timestamp {found} ms does not fit Spark's microseconds")
    return milliseconds * 1000


def _keys_and_values(buffer: pa.Buffer, records: Records) -> tuple[pa.Array, pa.Array]:
    everything = _slices(buffer, records.edges)
    return (
        _every_fourth(everything, 0, records.key_is_null),
        _every_fourth(everything, 2, records.value_is_null),
    )


def _slices(buffer: pa.Buffer, edges: np.ndarray) -> pa.Array:
    """An array whose elements lie between each two of the ascending edges, in `buffer`."""
    buffers = [None, pa.py_buffer(edges), buffer]
    return pa.Array.from_buffers(pa.binary(), len(edges) - 1, buffers)


def _every_fourth(everything: pa.Array, first: int, is_null: np.ndarray) -> pa.Array:
    if is_null.all():
        return pa.nulls(len(is_null), everything.type)
    indices = np.arange(first, len(everything), 4, dtype=np.int32)
    if is_null.any():
        return pc.take(everything, pa.array(indices, mask=is_null), boundscheck=False)
    return pc.take(everything, pa.array(indices), boundscheck=False)


def _headers(data: np.ndarray, buffer: pa.Buffer, records: Records) -> pa.Array:
    """The headers: lanes again, one for each record that has some."""
    counts = records.header_counts
    if np.any(counts > (records.ends - records.headers_starts) // 2):
        raise CorruptRecords("a record has more headers than bytes for them")
    total = int(counts.sum())
    edges = new_edges(total)
    pairs_edges = by_pair(edges)
    value_is_null = np.zeros(total, bool)
    lanes = np.flatnonzero(counts)
    lanes = lanes[np.argsort(-counts[lanes], kind="stable")]
    row = (np.cumsum(counts) - counts)[lanes]
    cursor = records.headers_starts[lanes]
    try:
        for step in range(int(counts.max(initial=0))):
            active = int(np.count_nonzero(counts[lanes] > step))
            lanes, cursor, row = lanes[:active], cursor[:active], row[:active]
            key_length, key_start = read_varints(data, cursor)
            key_end = key_start + key_length
            value_length, value_start = read_varints(data, key_end)
            cursor = value_start + np.maximum(value_length, 0)
            wrong = (key_length < 0) | (cursor < value_start) | (cursor > records.ends[lanes])
            if wrong.any():
                raise CorruptRecords("a record's headers do not fit into it")
            pairs_edges[row] = np.stack((key_start, key_end, value_start, cursor), axis=1)
            value_is_null[row] = value_length < 0
            row = row + 1
    except IndexError:
        raise CorruptRecords("a record's headers do not fit into it") from None
    if total:
        edges[-1] = edges[-2]
    everything = _slices(buffer, edges)
    keys = _text(_every_fourth(everything, 0, np.zeros(total, bool)))
    pairs = pa.StructArray.from_arrays(
        [keys, _every_fourth(everything, 2, value_is_null)], fields=list(HEADERS_TYPE.value_type)
    )
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    has_none = counts == 0
    return pa.ListArray.from_arrays(
        pa.array(offsets), pairs, type=HEADERS_TYPE, mask=pa.array(has_none)
    )


def _text(keys: pa.Array) -> pa.Array:
    """Keys as text; what is no UTF-8 is replaced, as Java's String does."""
    if not len(keys):
        return pa.array([], pa.string())
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())
