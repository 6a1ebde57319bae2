"""Keys and values as the records of a batch, written one by one.

Coordinators write them by the thousand, so that no `Record` is made of each, and those of a long
request are written in steps.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafkalite.wire.record_format import write_varint

Pair = tuple[bytes, bytes | None]
"""Key and value; None is a tombstone."""


def _written(value: int) -> bytes:
    output = bytearray()
    write_varint(output, value)
    return bytes(output)


# Nearly all sizes, and the first offsets, are of these.
_FEW: Final = 256
_VARINTS: Final = [_written(value) for value in range(_FEW)]
_TWO_BYTES: Final = 1 << 13


def _varint(value: int) -> bytes:
    if value < _FEW:
        return _VARINTS[value]
    if value < _TWO_BYTES:
        return bytes((value << 1 & 0x7F | 0x80, value >> 6))
    return _written(value)


class WrittenPairs:
    """The bytes of records without headers, with their batch's base timestamp."""

    __slots__ = ("_parts", "count", "size_bytes")

    def __init__(self, pairs: Iterable[Pair] = ()) -> None:
        self.count = 0
        self.size_bytes = 0
        self._parts: list[bytes] = []
        for key, value in pairs:
            self.add(key, value)

    def add(self, key: bytes, value: bytes | None) -> None:
        """The next record."""
        offset_delta = _varint(self.count)
        key_size = _varint(len(key))
        value_size, value = (b"\1", b"") if value is None else (_varint(len(value)), value)
        size = 3 + len(offset_delta) + len(key_size) + len(key) + len(value_size) + len(value)
        own_size = _varint(size)
        self._parts.append(
            b"".join((own_size, b"\0\0", offset_delta, key_size, key, value_size, value, b"\0"))
        )
        self.count += 1
        self.size_bytes += len(own_size) + size

    def data(self) -> bytes:
        """All of them."""
        return b"".join(self._parts)
