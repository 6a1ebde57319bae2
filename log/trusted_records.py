"""Batches of keys and values that the broker made itself."""

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
from kafkalite.wire.record_format import Pair, WrittenPairs

Pairs = Sequence[Pair] | WrittenPairs
"""The keys and values of a batch, which may be written already."""

# The base sequence of what coordinators of groups and share groups write, though most of it has no
# producer: Kafka's CoordinatorRuntime counts from 0.
COORDINATOR_SEQUENCE: Final = 0

_pack_under_crc: Final = Struct(">hiqqqhii").pack
_NO_PRODUCER: Final = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


def trusted_batch(
    pairs: Pairs,
    timestamp: int,
    producer: tuple[int, int] | None = None,
    codec: Compression = Compression.NONE,
    base_sequence: int = NO_SEQUENCE,
) -> AcceptedBatch:
    """One batch of at least one pair, with `timestamp` in milliseconds for all.

    `producer` has the id and the epoch of the producer in whose transaction it is.
    """
    written = pairs if isinstance(pairs, WrittenPairs) else WrittenPairs(pairs)
    count = written.count
    assert count
    records = compress(codec, written.data())
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
