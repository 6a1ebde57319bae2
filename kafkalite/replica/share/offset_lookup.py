"""The first offset of a share partition that has no state yet, as ListOffsets would find it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.wire.api_keys import EARLIEST, LATEST
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.replica.partition import Partition


def find_offset(partition: Partition, timestamp_ms: int) -> int:
    """The offset of a timestamp, or LATEST or EARLIEST. Raises KafkaError(OFFSET_NOT_AVAILABLE)."""
    if timestamp_ms == LATEST:
        return partition.high_watermark
    if timestamp_ms == EARLIEST:
        return partition.log.log_start_offset
    found = partition.log.offset_for_timestamp(timestamp_ms)
    if found is None or found.offset >= partition.high_watermark:
        raise KafkaError(
            ErrorCode.OFFSET_NOT_AVAILABLE,
            f"Offset for timestamp {timestamp_ms} not found for topic partition: "
            f"{partition.topic}-{partition.index}",
        )
    return found.offset
