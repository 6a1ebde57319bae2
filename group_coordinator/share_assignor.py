"""The simple assignor: which partitions each member of a share group fetches (KIP-932).

Several members may have the same partition. Every partition gets the same number of members: that
of the members divided by that of the partitions, rounded up. Every member gets as many partitions
as the others, or one more. All keep as much as they can of what they had. Members that subscribe
to different topics are assigned topic by topic.

Pure functions. Source: Kafka's SimpleAssignor (whose results differ from ours in which member gets
what, not in how many).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from kafkalite.group_coordinator.assignors import Candidate, Partition, Target


def assign_simple(
    members: Sequence[Candidate], partition_counts: Mapping[UUID, int], is_ready: ReadyPartitions
) -> dict[str, Target]:
    """Each member's target. Only partitions that are ready (`is_ready(topic, index)`) are given."""
    if not members:
        return {}
    if len({member.topics for member in members}) == 1:
        topics = members[0].topics
        partitions = _ready(topics & partition_counts.keys(), partition_counts, is_ready)
        return _targets(_share_out(members, partitions, topics))
    assigned: dict[str, set[Partition]] = {member.member_id: set() for member in members}
    for topic_id in sorted({topic_id for member in members for topic_id in member.topics}):
        subscribers = [member for member in members if topic_id in member.topics]
        partitions = _ready({topic_id} & partition_counts.keys(), partition_counts, is_ready)
        for member_id, given in _share_out(subscribers, partitions, {topic_id}).items():
            assigned[member_id] |= given
    return _targets(assigned)


ReadyPartitions = Callable[[UUID, int], bool]


def _ready(
    topics: set[UUID] | frozenset[UUID], counts: Mapping[UUID, int], is_ready: ReadyPartitions
) -> list[Partition]:
    return [
        (topic_id, index)
        for topic_id in sorted(topics)
        for index in range(counts[topic_id])
        if is_ready(topic_id, index)
    ]


def _share_out(
    members: Sequence[Candidate],
    partitions: Sequence[Partition],
    topics: set[UUID] | frozenset[UUID],
) -> dict[str, set[Partition]]:
    assigned: dict[str, set[Partition]] = {member.member_id: set() for member in members}
    if not partitions:
        return assigned
    most_members = math.ceil(len(members) / len(partitions))
    places = most_members * len(partitions)
    # The bounds of equal shares, rounded up.
    bounds = [-(-places * position // len(members)) for position in range(len(members) + 1)]
    quotas = {
        member.member_id: bounds[position + 1] - bounds[position]
        for position, member in enumerate(members)
    }
    holders: dict[Partition, int] = dict.fromkeys(partitions, 0)
    for member in members:
        for topic_id, indexes in member.owned.items():
            for index in sorted(indexes) if topic_id in topics else ():
                where = (topic_id, index)
                mine = assigned[member.member_id]
                if (
                    holders.get(where, most_members) < most_members
                    and len(mine) < quotas[member.member_id]
                ):
                    mine.add(where)
                    holders[where] += 1
    _fill(assigned, quotas, holders, most_members)
    return assigned


def _fill(
    assigned: Mapping[str, set[Partition]],
    quotas: Mapping[str, int],
    holders: Mapping[Partition, int],
    most_members: int,
) -> None:
    """Give every partition the members it lacks, taking turns among those with room.

    Where only members with the partition itself have room, one of them swaps: it takes another
    partition from a member that can take this one.
    """
    # The members that lack most come first. They never have fewer than before, so that an entry is
    # put right when it is met.
    heap = [
        (len(mine) - quotas[member], place, member)
        for place, (member, mine) in enumerate(assigned.items())
    ]
    heapq.heapify(heap)
    for where, count in holders.items():
        for _ in range(most_members - count):
            taker = _taker(assigned, quotas, heap, where)
            if taker is not None:
                assigned[taker].add(where)
                continue
            with_room = [m for m, mine in assigned.items() if len(mine) < quotas[m]]
            if not _swap(assigned, with_room, where):
                break


def _taker(
    assigned: Mapping[str, set[Partition]],
    quotas: Mapping[str, int],
    heap: list[tuple[int, int, str]],
    where: Partition,
) -> str | None:
    """The member with most room among those without the partition; None if there is none."""
    found: str | None = None
    passed_over: list[tuple[int, int, str]] = []
    while heap and found is None:
        lacking, place, member = heap[0]
        now = len(assigned[member]) - quotas[member]
        if now >= 0:
            heapq.heappop(heap)
        elif now != lacking:
            heapq.heapreplace(heap, (now, place, member))
        elif where in assigned[member]:
            passed_over.append(heapq.heappop(heap))
        else:
            found = member
    for each in passed_over:
        heapq.heappush(heap, each)
    return found


def _swap(
    assigned: Mapping[str, set[Partition]], with_room: Sequence[str], where: Partition
) -> bool:
    """Let a member with room take another's partition, and that one `where`."""
    for taker in with_room:
        for theirs in assigned.values():
            if where in theirs:
                continue
            movable = sorted(theirs - assigned[taker])
            if movable:
                theirs.remove(movable[0])
                assigned[taker].add(movable[0])
                theirs.add(where)
                return True
    return False


def _targets(assigned: Mapping[str, set[Partition]]) -> dict[str, Target]:
    targets: dict[str, Target] = {}
    for member_id, partitions in assigned.items():
        by_topic: dict[UUID, set[int]] = {}
        for topic_id, index in sorted(partitions):
            by_topic.setdefault(topic_id, set()).add(index)
        targets[member_id] = {topic: frozenset(indexes) for topic, indexes in by_topic.items()}
    return targets
