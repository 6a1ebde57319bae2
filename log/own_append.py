"""The append of what the broker writes itself: a batch is made for its place in the log, and not checked.

A coordinator's records come as keys and values; nobody else has had them in hand, so that there is nothing
to validate, and offset and leader epoch are known before the checksum is computed. What is not that simple
(a transaction, a segment that is full, a log that compresses or stamps) is left to `Log.append`. A test
holds the two equal: tests/log/test_own_append.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Final

from crc32c import crc32c

from kafkalite.log.plain_append import NOT_PLAIN
from kafkalite.wire.record_batch import (
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    write_varint,
)

if TYPE_CHECKING:
    from kafkalite.log.log import Log

Pair = tuple[bytes, bytes | None]
"""Key and value; None is a tombstone."""

# The header (wire/record_batch.py) up to the checksum, and what is under it.
_pack_head = Struct(">qiibI").pack
_pack_under_crc = Struct(">hiqqqhii").pack
_NO_PRODUCER: Final = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE)


def append_own(log: Log, pairs: Sequence[Pair], timestamp: int, leader_epoch: int) -> int:
    """Append records of one timestamp as one batch, as the leader; its base offset.

    NOT_PLAIN: nothing was done, `Log.append` is to be asked. Raises KafkaError(KAFKA_STORAGE_ERROR).
    """
    config = log.config
    count = len(pairs)
    records = write_pairs(pairs)
    size = HEADER_BYTES + len(records)
    base_offset = log.log_end_offset
    last_offset = base_offset + count - 1
    segment = log.segments.active
    if (
        not records
        or not config.keeps_batches
        or size > config.max_message_bytes
        or log.offline_reason is not None
        or leader_epoch != log.leader_epochs.latest
        or log.must_roll(segment, size, last_offset, timestamp, log.now_ms())
    ):
        return NOT_PLAIN
    body = _pack_under_crc(0, count - 1, timestamp, timestamp, *_NO_PRODUCER, count) + records
    head = _pack_head(base_offset, size - LOG_OVERHEAD, leader_epoch, MAGIC, crc32c(body))
    try:
        segment.append(
            (head, body),
            size,
            base_offset=base_offset,
            last_offset=last_offset,
            max_timestamp=timestamp,
            index_interval_bytes=config.index_interval_bytes,
        )
    except OSError as error:
        raise log.storage_error(error) from error
    log.log_end_offset = log.producer_state.end_offset = last_offset + 1
    return base_offset


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
