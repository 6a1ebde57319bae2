"""The nodes of a partition: replicas striped over racks, leaders spread (KIP-36's aim).

Kafka's StripedReplicaPlacer starts at a random node. Here the start is given, so that a run can be
repeated; who calls moves it from topic to topic, so that topics of one partition spread, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kafkalite.requests.slices import Steps
from kafkalite.wire.errors import ErrorCode, KafkaError

# Partitions placed in one step.
_AT_ONCE: Final = 64


def place(
    racks: Mapping[int, str | None],
    fenced: frozenset[int],
    partition_count: int,
    replication_factor: int,
    start: int,
) -> Steps[list[list[int]]]:
    """Place partitions: the replicas of each, the preferred leader first.

    `racks` has every registered node that takes new partitions; fenced ones are used only where the
    others are too few.
    Raises KafkaError(INVALID_REPLICATION_FACTOR) with the words of Kafka's placer.
    """
    reason = None
    if replication_factor <= 0:
        reason = (
            f"Invalid replication factor {replication_factor}: "
            "the replication factor must be positive."
        )
    elif len(fenced) == len(racks):
        reason = "All brokers are currently fenced, or have all their log directories cordoned."
    elif replication_factor > len(racks):
        reason = (
            f"The target replication factor of {replication_factor} cannot be reached because "
            f"only {len(racks)} broker(s) are registered or some brokers have all their log "
            "directories cordoned."
        )
    if reason is not None:
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, reason)
    alive = _interleave({node: rack for node, rack in racks.items() if node not in fenced})
    spare = sorted(fenced)
    placed: list[list[int]] = []
    for index in range(partition_count):
        if index % _AT_ONCE == 0:
            yield
        placed.append(_choose(alive, spare, racks, replication_factor, start + index))
    return placed


def _interleave(racks: Mapping[int, str | None]) -> list[int]:
    """The nodes in an order in which neighbours are in different racks as long as that goes."""
    by_rack: dict[str, list[int]] = {}
    for node in sorted(racks):
        by_rack.setdefault(racks[node] or "", []).append(node)
    columns = [by_rack[rack] for rack in sorted(by_rack)]
    longest = max(map(len, columns))
    return [column[row] for row in range(longest) for column in columns if row < len(column)]


def _choose(
    alive: Sequence[int],
    spare: Sequence[int],
    racks: Mapping[int, str | None],
    count: int,
    first: int,
) -> list[int]:
    # A whole turn around the ring shifts the followers by one, or the same pairs would share
    # every partition that a node leads.
    turn, position = divmod(first, len(alive))
    ring = [alive[(position + step) % len(alive)] for step in range(len(alive))]
    followers = ring[1:]
    if followers:
        shift = turn % len(followers)
        followers = followers[shift:] + followers[:shift]
    chosen = [ring[0]]
    used = {racks[ring[0]]}
    waiting: list[int] = []
    for node in followers:
        if racks[node] in used and racks[node] is not None:
            waiting.append(node)
        else:
            chosen.append(node)
            used.add(racks[node])
    return [*chosen, *waiting, *spare][:count]
