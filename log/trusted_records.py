"""Batches of keys and values that the broker made itself.

Coordinators write them by the thousand, so `Log.append_trusted` builds no `Record` for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final

from kafkalite.log.accepted_batch import AcceptedBatch
from kafkalite.wire.checksum import crc32c
from kafkalite.wire.compression import Compression, compress
from kafkalite.wire.record_batch import (
    HEADER_BYTES,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL_FLAG,
)
from kafkalite.wire.record_format import write_varint

Pair = tuple[bytes, bytes | None]
"""Key and value; None is a tombstone."""

# The base sequence of what coordinators of groups and share groups write, though most of it has no
# producer: Kafka's CoordinatorRuntime counts from 0.
COORDINATOR_SEQUENCE: Final = 0

_pack_under_crc: Final = Struct(">hiqqqhii").pack
_NO_PRODUCER: Final = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


def trusted_batch(
    pairs: Sequence[Pair],
    timestamp: int,
    producer: tuple[int, int] | None = None,
    codec: Compression = Compression.NONE,
    base_sequence: int = NO_SEQUENCE,
) -> AcceptedBatch:
    """One batch of at least one pair, with `timestamp` in milliseconds for all.

    `producer` has the id and the epoch of the producer in whose transaction it is.
    """
    count = len(pairs)
    assert count
    records = compress(codec, write_pairs(pairs))
    attributes = int(codec) | (0 if producer is None else TRANSACTIONAL_FLAG)
    producer_id, producer_epoch = _NO_PRODUCER if producer is None else producer
    head = _pack_under_crc(
        attributes,
        count - 1,
        timestamp,
        timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )
    under_crc = head + records
    return AcceptedBatch(
        crc32c(under_crc),
        under_crc,
        HEADER_BYTES + len(records),
        attributes,
        count - 1,
        timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )


def write_pairs(pairs: Sequence[Pair]) -> bytes:
    """The records' bytes, without headers, with their batch's base timestamp."""
    parts: list[bytes] = []
    for offset_delta, (key, value) in enumerate(pairs):
        value_size, value = (b"\1", b"") if value is None else (_varint(len(value)), value)
        body = b"".join(
            (b"\0\0", _varint(offset_delta), _varint(len(key)), key, value_size, value, b"\0")
        )
        parts.append(_varint(len(body)))
        parts.append(body)
    return b"".join(parts)


def _varint(value: int) -> bytes:
    return _VARINTS[value] if value < _FEW else _written(value)


def _written(value: int) -> bytes:
    output = bytearray()
    write_varint(output, value)
    return bytes(output)


# Nearly all sizes and offsets are of these.
_FEW: Final = 256
_VARINTS: Final = [_written(value) for value in range(_FEW)]
