"""The partition of a record, as Kafka's producer decides: murmur2 of the key.

Source: Kafka's Utils.murmur2 and BuiltInPartitioner. Keys of one length are hashed together in
numpy.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_SEED: Final = 0x9747B28C
_M: Final = np.uint32(0x5BD1E995)


def murmur2(keys: Any) -> Any:
    """The hash of each key of a binary array without nulls, uint32."""
    keys = keys.cast(pa.large_binary())
    offsets = np.frombuffer(keys.buffers()[1], np.int64)[keys.offset :][: len(keys) + 1]
    buffer = keys.buffers()[2]
    data = np.frombuffer(buffer, np.uint8) if buffer is not None else np.zeros(0, np.uint8)
    sizes = np.diff(offsets)
    hashes = np.zeros(len(keys), np.uint32)
    for size in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == size)
        cells = data[offsets[rows][:, None] + np.arange(size)]
        hashes[rows] = _of_one_size(cells, size)
    return hashes


def _of_one_size(cells: Any, size: int) -> Any:
    hashes = np.full(len(cells), np.uint32(_SEED ^ size), np.uint32)
    whole = size // 4
    words = np.ascontiguousarray(cells[:, : 4 * whole]).view("<u4")
    for i in range(whole):
        word = words[:, i] * _M
        word ^= word >> np.uint32(24)
        hashes = hashes * _M ^ word * _M
    if size % 4:
        for i in range(size % 4):
            hashes ^= cells[:, 4 * whole + i].astype(np.uint32) << np.uint32(8 * i)
        hashes = hashes * _M
    hashes ^= hashes >> np.uint32(13)
    hashes = hashes * _M
    return hashes ^ (hashes >> np.uint32(15))


def by_key(keys: Any, partition_count: int, first_row: int) -> Any:
    """A partition for each row: by the key's hash; without a key, one after the other in turn."""
    partitions = (first_row + np.arange(len(keys))) % partition_count
    there = pc.is_valid(keys).to_numpy(zero_copy_only=False)
    if there.any():
        hashes = murmur2(keys.drop_null()) & np.uint32(0x7FFFFFFF)
        partitions[there] = hashes % np.uint32(partition_count)
    return partitions
