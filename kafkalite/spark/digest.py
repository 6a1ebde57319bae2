"""A digest of a partition's records that does not depend on how they were read, batched or split.

Every record gets a 64-bit hash of its key, value and headers (null and empty differ) and its
timestamp; with its offset mixed in, the hashes are added up. So digests of parts are added to that
of the whole, and the archive of a topic has the digest of the topic. It tells mistakes, not
forgers.

The bytes are hashed eight at a time, in numpy, over whole columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_MASK = 2**64 - 1
_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xBF58476D1CE4E5B9)
_C = np.uint64(0x94D049BB133111EB)
_EMPTY = pa.scalar(b"", pa.large_binary())
# The padding that makes a length a multiple of eight.
_PADDING = pa.array([b"\0" * size for size in range(8)], pa.large_binary())

_KEY, _VALUE, _HEADER_KEY, _HEADER_VALUE, _HEADERS, _TIMESTAMP, _OFFSET = range(1, 8)


def milliseconds(column: Any) -> Any:
    """A column of int64 milliseconds, or of a timestamp type, as a numpy array of milliseconds."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_timestamp(column.type):
        microseconds = column.cast(pa.timestamp("us", column.type.tz), safe=False)
        return microseconds.cast(pa.int64()).to_numpy(zero_copy_only=False) // 1000
    return column.cast(pa.int64()).to_numpy(zero_copy_only=False)


def content_hashes(records: Any) -> Any:
    """A hash of each record, uint64, without its offset.

    Columns: `key`, `value`, `timestamp` (int64 milliseconds, or a timestamp type), perhaps
    `headers`.
    """
    hashes = _of_binary(records.column("key"), _KEY)
    hashes ^= _of_binary(records.column("value"), _VALUE)
    hashes ^= _of_numbers(milliseconds(records.column("timestamp")), _TIMESTAMP)
    if "headers" in records.schema.names:
        headers = records.column("headers")
        if headers.null_count < len(headers):
            hashes ^= _of_headers(headers)
    return _mix(hashes)


def key_hashes(keys: Any) -> Any:
    """A hash of each key, uint64."""
    return _of_binary(keys, _KEY)


def add_offsets(hashes: Any, offsets: Any) -> Any:
    """The hashes with each record's offset mixed in."""
    return _mix(hashes ^ _of_numbers(offsets, _OFFSET))


def total(hashes: Any) -> int:
    """The digest of records: the sum of their hashes, modulo 2^64."""
    return int(hashes.sum(dtype=np.uint64))


def add(*digests: int) -> int:
    """The digest of all parts together."""
    return sum(digests) & _MASK


def digest(records: Any) -> int:
    """The digest of rows that have their offsets."""
    offsets = records.column("offset").to_numpy(zero_copy_only=False)
    return total(add_offsets(content_hashes(records), offsets))


def text(value: int) -> str:
    """The digest as text: 16 hex digits."""
    return f"{value:016x}"


def _mix(values: Any) -> Any:
    """The finalizer of splitmix64."""
    values = (values ^ (values >> np.uint64(30))) * _B
    values = (values ^ (values >> np.uint64(27))) * _C
    return values ^ (values >> np.uint64(31))


def _of_numbers(values: Any, seed: int) -> Any:
    return _mix(values.astype(np.int64).view(np.uint64) * _A + np.uint64(seed))


def _of_binary(column: Any, seed: int) -> Any:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    column = column.cast(pa.large_binary())
    sizes = pc.binary_length(column).fill_null(-1).to_numpy(zero_copy_only=False)
    hashes = _of_numbers(sizes, seed)
    if not len(column) or sizes.max() <= 0:
        return hashes
    padding = _PADDING.take(pa.array(-np.maximum(sizes, 0) % 8))
    padded = pc.binary_join_element_wise(column.fill_null(b""), padding, _EMPTY)
    positions = np.frombuffer(padded.buffers()[1], np.int64)[padded.offset :][: len(column) + 1]
    words = np.frombuffer(padded.buffers()[2], np.uint64)[positions[0] // 8 : positions[-1] // 8]
    starts = (positions[:-1] - positions[0]) // 8
    counts = np.diff(positions) // 8
    # A word counts by its place in the value, so that words cannot change places unseen.
    places = np.arange(len(words), dtype=np.uint64) - np.repeat(starts.astype(np.uint64), counts)
    mixed = _mix(words ^ ((places + np.uint64(seed)) * _A))
    filled = counts > 0
    hashes[filled] += np.add.reduceat(mixed, starts[filled])
    return hashes


def _of_headers(headers: Any) -> Any:
    if isinstance(headers, pa.ChunkedArray):
        headers = headers.combine_chunks()
    counts = pc.list_value_length(headers).fill_null(0).to_numpy(zero_copy_only=False)
    hashes = _of_numbers(counts, _HEADERS)
    hashes[counts == 0] = 0  # no headers and an empty list of them are the same on the wire
    bounds = headers.offsets.to_numpy()
    entries = headers.values.slice(int(bounds[0]), int(bounds[-1] - bounds[0]))
    if not len(entries):
        return hashes
    starts = bounds[:-1] - bounds[0]
    each = _of_binary(entries.field("key"), _HEADER_KEY)
    each ^= _of_binary(entries.field("value"), _HEADER_VALUE)
    places = np.arange(len(entries)) - np.repeat(starts, counts)
    each = _mix(each ^ _of_numbers(places, _HEADERS))
    filled = counts > 0
    hashes[filled] += np.add.reduceat(each, starts[filled])
    return hashes
