"""The partition of a key, as Kafka's producers choose it: murmur2 of its bytes.

It is for single records that are written by hand, so it needs no numpy, as the sinks for Spark do.
Source: Kafka's BuiltInPartitioner and Utils.murmur2.
"""

from __future__ import annotations

from typing import Final

_SEED: Final = 0x9747B28C
_MULTIPLIER: Final = 0x5BD1E995
_MASK: Final = 0xFFFFFFFF


def by_key(key: bytes | memoryview | None, partition_count: int) -> int:
    """The partition of a key; the first without one."""
    return 0 if key is None else (murmur2(bytes(key)) & 0x7FFFFFFF) % partition_count


def murmur2(data: bytes) -> int:
    """The hash of the bytes, 32 bits without a sign."""
    hashed = _SEED ^ len(data)
    whole = len(data) & ~3
    for position in range(0, whole, 4):
        word = int.from_bytes(data[position : position + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        hashed = hashed * _MULTIPLIER & _MASK ^ word
    if rest := data[whole:]:
        hashed = (hashed ^ int.from_bytes(rest, "little")) * _MULTIPLIER & _MASK
    hashed = (hashed ^ hashed >> 13) * _MULTIPLIER & _MASK
    return hashed ^ hashed >> 15
