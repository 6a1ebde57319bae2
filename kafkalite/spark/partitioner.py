"""The partition of a row, as Kafka's own producer decides, many rows at once.

Source: Kafka's BuiltInPartitioner and Utils.murmur2.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_SEED = 0x9747B28C
_M = np.uint32(0x5BD1E995)
# Rows without a key go to one partition for so long before the next one's turn: full batches.
STICKY_ROWS = 2000


def choose(keys: pa.Array, partition_count: int, sticky_from: int = 0) -> np.ndarray:
    """A partition for each row: by the key's hash, or in turns for rows without a key."""
    turns = (sticky_from + np.arange(len(keys)) // STICKY_ROWS) % partition_count
    if keys.null_count == len(keys):
        return turns
    hashed = (murmur2(keys) & np.uint32(0x7FFFFFFF)).astype(np.int64) % partition_count
    return np.where(keys.is_null().to_numpy(zero_copy_only=False), turns, hashed)


def murmur2(keys: pa.Array) -> np.ndarray:
    """Kafka's 32-bit hash of each key; of a null, that of no bytes."""
    filled = pc.fill_null(keys, b"")
    if isinstance(filled, pa.ChunkedArray):
        filled = filled.combine_chunks()
    _, offset_buffer, data_buffer = filled.buffers()
    count = len(filled)
    edges = np.frombuffer(offset_buffer, np.int32)[filled.offset : filled.offset + count + 1]
    starts, lengths = edges[:-1].astype(np.int64), np.diff(edges).astype(np.int64)
    data = np.zeros((data_buffer.size if data_buffer else 0) + 8, np.uint8)
    if data_buffer:
        data[: data_buffer.size] = np.frombuffer(data_buffer, np.uint8)
    words = np.ndarray((len(data) - 3,), "<u4", buffer=data, strides=(1,))
    with np.errstate(over="ignore"):
        result = np.uint32(_SEED) ^ lengths.astype(np.uint32)
        for i in range(int(lengths.max(initial=0)) // 4):
            rows = np.flatnonzero(lengths >= 4 * i + 4)
            word = words[starts[rows] + 4 * i] * _M
            word = (word ^ (word >> np.uint32(24))) * _M
            result[rows] = (result[rows] * _M) ^ word
        rest = lengths % 4
        rows = np.flatnonzero(rest)
        tail = words[starts[rows] + lengths[rows] - rest[rows]]
        tail &= ((np.uint64(1) << (rest[rows] * 8).astype(np.uint64)) - np.uint64(1)).astype(
            np.uint32
        )
        result[rows] = (result[rows] ^ tail) * _M
        result = (result ^ (result >> np.uint32(13))) * _M
        return result ^ (result >> np.uint32(15))
