"""Record batches out of Arrow columns, with no Python for a single record.

A record is varints, the key, varints, the value, and the headers. The varints are made in numpy, a
column at a time; Arrow joins the parts row by row. The rows of a batch then lie beside one another
already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalite.spark.errors import SparkSourceError
from kafkalite.wire.compression import Compression, compress
from kafkalite.wire.record_batch import (
    LOG_APPEND_TIME_FLAG,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL_FLAG,
    TimestampType,
    increment_sequence,
    pack_batch,
)

# Kafka's producer fills its batches like this, if asked for throughput.
MAX_BATCH_BYTES = 256 << 10
# Arrow's offsets are 32 bits wide; so much at a time is joined.
_MOST_JOINED_BYTES = 256 << 20
# Length, attributes, deltas, key and value length, header count: at most so much beside the data.
_RECORD_OVERHEAD_BYTES = 36


class EncodedBatch(NamedTuple):
    """A whole record batch; its offsets are final only if the broker does not assign its own."""

    data: bytes
    base_offset: int
    last_offset: int
    record_count: int


class Producer(NamedTuple):
    """The producer of a batch, for idempotence and transactions."""

    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    is_transactional: bool = False


def encode_batches(
    keys: pa.Array,
    values: pa.Array,
    timestamps_ms: np.ndarray,
    *,
    headers: pa.Array | None = None,
    offsets: np.ndarray | None = None,
    base_offset: int = 0,
    compression: Compression = Compression.NONE,
    compression_level: int | None = None,
    max_batch_bytes: int = MAX_BATCH_BYTES,
    producer: Producer = Producer(),  # noqa: B008 (a value)
    base_sequence: int = NO_SEQUENCE,
    partition_leader_epoch: int = NO_LEADER_EPOCH,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    end_offset: int | None = None,
    breaks: Sequence[int] = (),
) -> Iterator[EncodedBatch]:
    """The rows as record batches v2, in order.

    Args:
        keys, values: binary (or string), null where a record has none.
        timestamps_ms: int64, milliseconds.
        headers: list<struct<key: string, value: binary>>, null or empty for none.
        offsets: int64, ascending: the records keep them; else they count on from `base_offset`.
        max_batch_bytes: of the records, before compression; a larger record has a batch of its own.
        timestamp_type: with LOG_APPEND_TIME, the records of a batch have one timestamp.
        end_offset: with `offsets`, batches reach up to the next, as after compaction, or to here.
        breaks: rows that begin a batch, ascending.
    """
    count = len(keys)
    if not count:
        return
    if offsets is None:
        offsets = np.arange(base_offset, base_offset + count, dtype=np.int64)
    keys, values = _binary(keys), _binary(values)
    header_bytes = _headers(headers, count)
    sizes = _RECORD_OVERHEAD_BYTES + sum(_lengths(each, 0) for each in (keys, values, header_bytes))
    stamped = timestamp_type is TimestampType.LOG_APPEND_TIME
    changes = (np.flatnonzero(np.diff(timestamps_ms)) + 1).tolist() if stamped else []
    batch_starts = _split(sizes, offsets, max_batch_bytes, np.unique([*changes, *breaks]))
    ends = np.append(batch_starts[1:], count)
    attributes = _attributes(compression, producer, stamped=stamped)
    for which in _groups(sizes, ends):
        first, last = int(batch_starts[which[0]]), int(ends[which[-1]])
        starts = batch_starts[which] - first
        records = _join(
            keys.slice(first, last - first),
            values.slice(first, last - first),
            header_bytes.slice(first, last - first),
            _deltas(timestamps_ms[first:last], starts),
            _deltas(offsets[first:last], starts),
        )
        for start, end in zip(batch_starts[which].tolist(), ends[which].tolist(), strict=True):
            plain = _bytes(records, start - first, end - first)
            last_offset = _last_offset(offsets, start, end, end_offset)
            data = pack_batch(
                compress(compression, plain, compression_level),
                base_offset=int(offsets[start]),
                last_offset_delta=last_offset - int(offsets[start]),
                record_count=end - start,
                base_timestamp=int(timestamps_ms[start]),
                max_timestamp=int(timestamps_ms[start:end].max()),
                attributes=attributes,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                base_sequence=_sequence(base_sequence, start),
                partition_leader_epoch=partition_leader_epoch,
            )
            yield EncodedBatch(data, int(offsets[start]), last_offset, end - start)


def _groups(sizes: np.ndarray, ends: np.ndarray) -> Iterator[np.ndarray]:
    """Several batches are joined at once, but not more than Arrow's offsets can address."""
    group = np.cumsum(sizes)[ends - 1] // _MOST_JOINED_BYTES
    for number in np.unique(group).tolist():
        yield np.flatnonzero(group == number)


def _attributes(compression: Compression, producer: Producer, *, stamped: bool) -> int:
    return (
        int(compression)
        | (TRANSACTIONAL_FLAG if producer.is_transactional else 0)
        | (LOG_APPEND_TIME_FLAG if stamped else 0)
    )


def _last_offset(offsets: np.ndarray, start: int, end: int, end_offset: int | None) -> int:
    """The end of the batch of the rows [start, end): its last record, or before the next batch."""
    if end_offset is None:
        return int(offsets[end - 1])
    following = int(offsets[end]) if end < len(offsets) else end_offset
    # A delta has 32 bits: what does not fit stays a gap.
    return min(following - 1, int(offsets[start]) + (1 << 31) - 1)


def _sequence(base_sequence: int, rows_before: int) -> int:
    if base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    return increment_sequence(base_sequence, rows_before)


def _binary(column: pa.Array) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return column if column.type == pa.binary() else column.cast(pa.binary())


def _lengths(column: pa.Array, null: int) -> np.ndarray:
    lengths = pc.binary_length(column).fill_null(null)
    return lengths.to_numpy(zero_copy_only=False).astype(np.int64)


def _split(
    sizes: np.ndarray, offsets: np.ndarray, max_batch_bytes: int, breaks: np.ndarray
) -> np.ndarray:
    """The row each batch begins with: as many records as fit, and none across `breaks` (rows)."""
    behind = np.cumsum(sizes)
    starts = [0]
    count = len(sizes)
    while True:
        start = starts[-1]
        before = int(behind[start - 1]) if start else 0
        following = int(np.searchsorted(behind, before + max_batch_bytes, side="right"))
        # offsets with holes may be far apart: a delta has 32 bits
        following = min(following, int(np.searchsorted(offsets, offsets[start] + (1 << 31) - 1)))
        following = max(following, start + 1)
        i = int(np.searchsorted(breaks, start, side="right"))
        if i < len(breaks):
            following = min(following, int(breaks[i]))
        if following >= count:
            return np.array(starts, np.int64)
        starts.append(following)


def _deltas(column: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Each row's difference to the first of its batch."""
    counts = np.diff(np.append(starts, len(column)))
    return column - np.repeat(column[starts], counts)


def _join(
    keys: pa.Array,
    values: pa.Array,
    header_bytes: pa.Array,
    timestamp_deltas: np.ndarray,
    offset_deltas: np.ndarray,
) -> pa.Array:
    key_lengths, value_lengths = _lengths(keys, -1), _lengths(values, -1)
    before_key = [timestamp_deltas, offset_deltas, key_lengths]
    lengths = (
        1  # the attributes
        + sum(varint_sizes(column) for column in before_key)
        + np.maximum(key_lengths, 0)
        + varint_sizes(value_lengths)
        + np.maximum(value_lengths, 0)
        + _lengths(header_bytes, 0)
    )
    attributes = np.zeros(len(keys), np.int64)
    return pc.binary_join_element_wise(
        varints(lengths, attributes, *before_key),
        keys,
        varints(value_lengths),
        values,
        header_bytes,
        b"",
        null_handling="replace",
        null_replacement=b"",
    )


def _headers(headers: pa.Array | None, count: int) -> pa.Array:
    """For each row the number of headers, and the headers, as they stand in a record. Raises
    SparkSourceError."""
    none = varints(np.zeros(1, np.int64))[0]
    if headers is None:
        return pa.repeat(none, count)
    if isinstance(headers, pa.ChunkedArray):
        headers = headers.combine_chunks()
    counts = pc.list_value_length(headers).fill_null(0).to_numpy(zero_copy_only=False)
    if not counts.any():
        return pa.repeat(none, count)
    flat = headers.flatten()
    names = _binary(flat.field("key") if flat.null_count == 0 else pc.struct_field(flat, "key"))
    values = _binary(pc.struct_field(flat, "value"))
    if names.null_count:
        raise SparkSourceError("a header has no key: a record's headers have one each")
    each = pc.binary_join_element_wise(
        varints(_lengths(names, 0)),
        names,
        varints(_lengths(values, -1)),
        values,
        b"",
        null_handling="replace",
        null_replacement=b"",
    )
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    together = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), each), b"")
    return pc.binary_join_element_wise(varints(counts.astype(np.int64)), together, b"")


def _zigzag(values: np.ndarray) -> np.ndarray:
    return ((values << 1) ^ (values >> 63)).view(np.uint64)


def varint_sizes(values: np.ndarray) -> np.ndarray:
    """The number of bytes each takes as a zigzag varint."""
    return _sizes(_zigzag(np.ascontiguousarray(values, np.int64)))


def _sizes(folded: np.ndarray) -> np.ndarray:
    sizes = np.ones(len(folded), np.int64)
    shift = 7
    rest = folded >> np.uint64(7)
    while rest.any() and shift < 70:
        sizes += rest != 0
        rest = rest >> np.uint64(7)
        shift += 7
    return sizes


def varints(*columns: np.ndarray) -> pa.Array:
    """A binary array: for each row the zigzag varints of the columns, one after the other."""
    parts: list[np.ndarray] = []
    present: list[np.ndarray] = []
    total = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        folded = _zigzag(np.ascontiguousarray(column, np.int64))
        sizes = _sizes(folded)
        total += sizes
        for i in range(int(sizes.max(initial=1))):
            byte = (folded >> np.uint64(7 * i)) & np.uint64(0x7F)
            parts.append(
                (byte | np.where(sizes > i + 1, 0x80, 0).astype(np.uint64)).astype(np.uint8)
            )
            present.append(sizes > i)
    data = np.stack(parts, axis=1)[np.stack(present, axis=1)]
    offsets = np.zeros(len(total) + 1, np.int32)
    np.cumsum(total, out=offsets[1:])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(total), buffers)


def _bytes(records: pa.Array, start: int, end: int) -> bytes:
    """The bytes of these rows, which lie beside one another."""
    _, offset_buffer, data = records.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[records.offset :]
    return memoryview(data)[int(offsets[start]) : int(offsets[end])].tobytes()
