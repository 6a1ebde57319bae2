"""The rule of the high watermark, against a naive definition over all small worlds."""

from __future__ import annotations

from itertools import product

from kafkalite.replication.high_watermark import next_high_watermark


def naive(current: int, ends: list[int], in_sync: int, needed: int) -> int:
    """The largest offset that every one of `ends` has reached, if it may move."""
    reached = max((o for o in range(5) if all(end >= o for end in ends)), default=current)
    return reached if in_sync >= needed and reached > current else current


def test_every_small_world() -> None:
    for current, leader_end, in_sync, needed in product(range(4), range(4), range(4), range(4)):
        for followers in product((-1, 0, 1, 2, 3), repeat=2):
            found = next_high_watermark(
                current,
                leader_end=leader_end,
                counting_ends=followers,
                in_sync_count=in_sync,
                needed_in_sync=needed,
            )
            assert found == naive(current, [leader_end, *followers], in_sync, needed)


def test_a_leader_alone_goes_by_itself() -> None:
    assert (
        next_high_watermark(2, leader_end=9, counting_ends=[], in_sync_count=1, needed_in_sync=1)
        == 9
    )
