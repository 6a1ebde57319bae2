"""A partition of a session is told of when there is something new to say."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.replica.fetch_target import (
    FREED_AT_ONCE,
    DroppedTargets,
    FetchTarget,
    TargetKey,
    key_of,
)
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.fetch import FetchPartition, PartitionData
from kafkalite.wire.rows import rows_of

TOPIC_ID = UUID(int=7)


def target() -> FetchTarget:
    made = FetchTarget("t", TOPIC_ID, 3, rows_of(FetchPartition(partition=3)))
    made.remember(rows_of(PartitionData(partition_index=3, high_watermark=5, log_start_offset=1)))
    return made


@pytest.mark.parametrize(
    ("changed", "is_told"),
    [
        ({}, False),
        ({"high_watermark": 6}, True),
        ({"log_start_offset": 2}, True),
        ({"records": b"x"}, True),
        ({"error_code": ErrorCode.NOT_LEADER_OR_FOLLOWER}, True),
        ({"preferred_read_replica": 2}, True),
    ],
)
def test_what_is_new_is_told(changed: dict[str, object], is_told: bool) -> None:
    same = {"partition_index": 3, "high_watermark": 5, "log_start_offset": 1}
    assert target().must_tell(rows_of(PartitionData(**(same | changed)))) is is_told


def test_the_end_of_an_error_is_told() -> None:
    failed = target()
    failed.remember(rows_of(PartitionData(error_code=1, high_watermark=5, log_start_offset=1)))
    assert failed.must_tell(rows_of(PartitionData(high_watermark=5, log_start_offset=1)))


def test_sessions_know_partitions_by_name_or_by_id() -> None:
    assert (key_of(target(), False), key_of(target(), True)) == (("t", 3), (TOPIC_ID, 3))


def many(count: int) -> dict[TargetKey, FetchTarget]:
    wanted = rows_of(FetchPartition())
    return {("t", index): FetchTarget("t", UUID(int=0), index, wanted) for index in range(count)}


def test_they_are_freed_little_by_little() -> None:
    dropped, first, second = DroppedTargets(), many(3 * FREED_AT_ONCE), many(FREED_AT_ONCE + 1)
    dropped.free_some()
    dropped.add(first)
    dropped.add(second)
    sizes: list[tuple[int, int]] = []
    for _ in range(6):
        dropped.free_some()
        sizes.append((len(first) // FREED_AT_ONCE, len(second)))
    assert sizes == [(3, 1), (3, 0), (2, 0), (1, 0), (0, 0), (0, 0)]


def test_few_are_freed_at_once() -> None:
    dropped, few = DroppedTargets(), many(FREED_AT_ONCE)
    dropped.add(few)
    dropped.free_some()
    assert len(few) == FREED_AT_ONCE, "they are the caller's"
