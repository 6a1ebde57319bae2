"""AddPartitionsToTxn: all partitions are added, or none."""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.transactional import (
    Transactional,
)


async def test_one_unknown_partition_spoils_the_others(writer: Transactional) -> None:
    assert await writer.add(0, 7) is ErrorCode.OPERATION_NOT_ATTEMPTED
    assert await writer.add(7, 0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await writer.state() == "Empty"


async def test_very_many_partitions_are_added_together_or_not_at_all(writer: Transactional) -> None:
    many = [0, 1] * 500
    assert await writer.add(*many, 7) is ErrorCode.OPERATION_NOT_ATTEMPTED
    assert await writer.state() == "Empty"
    assert await writer.add(*many) is ErrorCode.NONE
    assert await writer.state() == "Ongoing"
