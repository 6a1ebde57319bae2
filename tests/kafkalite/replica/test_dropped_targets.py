"""Sessions of very many partitions that are gone leave them to those that come after."""

from __future__ import annotations

from uuid import UUID

from kafkalite.replica.dropped_targets import AT_ONCE, DroppedTargets
from kafkalite.replica.fetch_target import FetchTarget, TargetKey
from kafkalite.wire.messages.fetch import FetchPartition
from kafkalite.wire.rows import rows_of


def many(count: int) -> dict[TargetKey, FetchTarget]:
    wanted = rows_of(FetchPartition())
    return {("t", index): FetchTarget("t", UUID(int=0), index, wanted) for index in range(count)}


def test_they_are_freed_little_by_little() -> None:
    dropped, first, second = DroppedTargets(), many(3 * AT_ONCE), many(AT_ONCE + 1)
    dropped.free_some()
    dropped.add(first)
    dropped.add(second)
    sizes: list[tuple[int, int]] = []
    for _ in range(6):
        dropped.free_some()
        sizes.append((len(first) // AT_ONCE, len(second)))
    assert sizes == [(3, 1), (3, 0), (2, 0), (1, 0), (0, 0), (0, 0)]


def test_few_are_freed_at_once() -> None:
    dropped, few = DroppedTargets(), many(AT_ONCE)
    dropped.add(few)
    dropped.free_some()
    assert len(few) == AT_ONCE, "they are the caller's"
