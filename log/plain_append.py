"""The append of a plain batch, straight: `Log.append` without what a plain batch cannot need.

Plain is what nearly every batch is: one whole batch of format 2 with a good checksum, in no transaction,
from a producer that is not idempotent or whose next sequence this is, timestamps of its own that are not
too far ahead, in a topic that takes batches as they are, and neither a segment nor a leader epoch nor an
idempotent producer begins with it. Whatever is not plain is left to `Log.append`, which says what is wrong
with it, if anything is.
A test holds the two equal: tests/log/test_plain_append.py.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from crc32c import crc32c

from kafkalite.wire.compression import Compression
from kafkalite.wire.record_batch import (
    ATTRIBUTES_POSITION,
    HEADER_BYTES,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    MIN_RECORD_BYTES,
    NO_PRODUCER_ID,
)

if TYPE_CHECKING:
    from kafkalite.log.log import Log

NOT_PLAIN = -1

# The header (wire/record_batch.py) without leader epoch and first timestamp.
_unpack_header = Struct(">qi4xBIhi8xqqhii").unpack_from
_pack_head = Struct(">qiib").pack
_HEAD_BYTES = MAGIC_POSITION + 1


def append_plain(log: Log, records: bytes | bytearray | memoryview, leader_epoch: int) -> int:
    """Append a client's batch as the leader; its base offset.

    NOT_PLAIN: nothing was done, `Log.append` is to be asked. Raises KafkaError(KAFKA_STORAGE_ERROR).
    """
    size = len(records)
    config = log.config
    if size < HEADER_BYTES or size > config.max_message_bytes or not config.takes_plain_batches:
        return NOT_PLAIN
    offset, length, magic, crc, attributes, last_delta, max_timestamp, *producer, count = (
        _unpack_header(records)
    )
    # No codec, or one of the four; none of the flags.
    if not 0 <= attributes <= Compression.ZSTD:
        return NOT_PLAIN
    if offset or magic != MAGIC or length + LOG_OVERHEAD != size or not 0 < count == last_delta + 1:
        return NOT_PLAIN
    if not attributes and count * MIN_RECORD_BYTES > size - HEADER_BYTES:
        return NOT_PLAIN
    entry = None
    if producer[0] != NO_PRODUCER_ID:
        entry = log.producer_state.expects(*producer)
        if entry is None:
            return NOT_PLAIN
    view = memoryview(records)
    now_ms = log.now_ms()
    segment = log.segments.active
    base_offset = log.log_end_offset
    last_offset = base_offset + last_delta
    if (
        max_timestamp > now_ms + config.message_timestamp_after_max_ms
        or log.offline_reason is not None
        or leader_epoch != log.leader_epochs.latest
        or log.must_roll(segment, size, last_offset, max_timestamp, now_ms)
        or crc != crc32c(view[ATTRIBUTES_POSITION:])
    ):
        return NOT_PLAIN
    try:
        segment.append(
            (_pack_head(base_offset, length, leader_epoch, MAGIC), view[_HEAD_BYTES:]),
            size,
            base_offset=base_offset,
            last_offset=last_offset,
            max_timestamp=max_timestamp,
            index_interval_bytes=config.index_interval_bytes,
        )
    except OSError as error:
        raise log.storage_error(error) from error
    log.log_end_offset = log.producer_state.end_offset = last_offset + 1
    if entry is not None:
        entry.appended(producer[2], last_delta, base_offset, max_timestamp)
    return base_offset
