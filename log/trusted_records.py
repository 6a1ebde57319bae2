"""Batches of keys and values that the broker made itself.

Coordinators write them by the thousand, so `Log.append_trusted` builds no `Record` for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct
from typing import Final

from crc32c import crc32c

from kafkalite.log.acceptance import AcceptedBatch
from kafkalite.wire.record_batch import (
    HEADER_BYTES,
    MAGIC,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
)
from kafkalite.wire.record_format import write_varint

Pair = tuple[bytes, bytes | None]
"""Key and value; None is a tombstone."""

_pack_magic_and_crc = Struct(">bI").pack
_pack_under_crc = Struct(">hiqqqhii").pack
_NO_PRODUCER: Final = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE)


def trusted_batch(pairs: Sequence[Pair], timestamp: int) -> AcceptedBatch:
    """One batch of at least one pair, with `timestamp` in milliseconds for all."""
    count = len(pairs)
    assert count
    records = write_pairs(pairs)
    under_crc = _pack_under_crc(0, count - 1, timestamp, timestamp, *_NO_PRODUCER, count) + records
    return AcceptedBatch(
        (_pack_magic_and_crc(MAGIC, crc32c(under_crc)), under_crc),
        HEADER_BYTES + len(records),
        0,
        count - 1,
        timestamp,
        *_NO_PRODUCER,
        count,
    )


def write_pairs(pairs: Sequence[Pair]) -> bytes:
    """The records' bytes, without headers, with their batch's base timestamp."""
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
