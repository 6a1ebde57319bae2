"""The rule of the high watermark: consumers read only records that no election can lose.

It does not move while the in-sync replicas are fewer than min.insync.replicas asks for (KIP-966),
whatever the producer's acks. Else it is the smallest end among the leader and all that count: the
maximal in-sync replicas, and followers that have caught up and may join them. It never falls.
Source: Partition.maybeIncrementLeaderHW.
"""

from __future__ import annotations

from collections.abc import Iterable


def next_high_watermark(
    current: int,
    *,
    leader_end: int,
    counting_ends: Iterable[int],
    in_sync_count: int,
    needed_in_sync: int,
) -> int:
    """The high watermark after a change. An unknown end is -1, and holds it where it is.

    `counting_ends` are those of the followers that count; `needed_in_sync` is min.insync.replicas,
    or the number of replicas if there are fewer.
    """
    if in_sync_count < needed_in_sync:
        return current
    return max(current, min(leader_end, *counting_ends, leader_end))
