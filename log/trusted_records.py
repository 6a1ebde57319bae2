"""Records of keys and values that the broker made itself, in a batch's inner format.

Coordinators write these by the thousand: `Log.append_trusted` puts them into a batch without building a
`Record` for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from kafkalite.wire.record_batch import write_varint

Pair = tuple[bytes, bytes | None]
"""Key and value; None is a tombstone."""


def write_pairs(pairs: Sequence[Pair]) -> bytes:
    """Records of keys and values only, whose timestamps are their batch's, in its inner format."""
    parts: list[bytes] = []
    for offset_delta, (key, value) in enumerate(pairs):
        rest = b"\1" if value is None else _varint(len(value)) + value
        body = b"".join((b"\0\0", _varint(offset_delta), _varint(len(key)), key, rest, b"\0"))
        parts.append(_varint(len(body)))
        parts.append(body)
    return b"".join(parts)


@lru_cache(maxsize=1024)
def _varint(value: int) -> bytes:
    output = bytearray()
    write_varint(output, value)
    return bytes(output)
