"""Assignors that the coordinator runs for groups of KIP-848.

    range     each topic cut into ranges, the same members in the same order for every topic, so
    that
              partitions with one number (co-partitioned topics) fall to one member
    uniform   equally many partitions for everybody, moving as few as that allows

Pure functions of subscriptions, partition counts and the assignment before. Every partition of a
subscribed topic gets exactly one member that subscribes to the topic. Source: Kafka's RangeAssignor
and UniformAssignor (whose results differ from ours in which member gets what, not in how many).
"""

import heapq
from collections.abc import Callable, Mapping
from uuid import UUID

from msgspec import Struct

Partition = tuple[UUID, int]
Target = Mapping[UUID, frozenset[int]]
"""Partitions by topic."""


_Heap = list[tuple[int, int, str]]
"""The load, place and id of members, the lightest first; loads may have grown since."""


class Candidate(Struct, frozen=True):
    """A member as an assignor sees it: `owned` is its target so far."""

    member_id: str
    instance_id: str | None
    topics: frozenset[UUID]
    owned: Target


Assignor = Callable[[list[Candidate], Mapping[UUID, int]], dict[str, Target]]
"""From the members and the partition counts of all their topics to each member's target."""


def assign_range(
    members: list[Candidate], partition_counts: Mapping[UUID, int]
) -> dict[str, Target]:
    """Give contiguous ranges. Static members come first, by instance id, which stays."""
    in_order = sorted(members, key=lambda m: (m.instance_id is None, m.instance_id or m.member_id))
    targets: dict[str, dict[UUID, frozenset[int]]] = {m.member_id: {} for m in members}
    for topic_id, count in partition_counts.items():
        subscribers = [m.member_id for m in in_order if topic_id in m.topics]
        if not subscribers:
            continue
        quota, extra = divmod(count, len(subscribers))
        start = 0
        for position, member_id in enumerate(subscribers):
            end = start + quota + (position < extra)
            if end > start:
                targets[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return dict(targets)


def assign_uniform(
    members: list[Candidate], partition_counts: Mapping[UUID, int]
) -> dict[str, Target]:
    """Assign as evenly as the subscriptions allow. Each member keeps what it can of what it has."""
    loads = _Loads(members)
    free = _keep(members, partition_counts, loads)
    # Partitions that fewest members could take go first: the rest can even out the others.
    subscribers = {
        topic_id: [m.member_id for m in members if topic_id in m.topics]
        for topic_id in partition_counts
    }
    free.sort(key=lambda partition: len(subscribers[partition[0]]))
    heaps = {topic_id: loads.heap(found) for topic_id, found in subscribers.items()}
    for partition in free:
        if heaps[partition[0]]:
            loads.give(partition, loads.lightest_in(heaps[partition[0]]))
    _even_out(loads, subscribers)
    return loads.targets()


class _Loads:
    """The assignment so far."""

    def __init__(self, members: list[Candidate]) -> None:
        self.of: dict[str, dict[Partition, None]] = {m.member_id: {} for m in members}

    def give(self, partition: Partition, member_id: str) -> None:
        self.of[member_id][partition] = None

    def lightest(self, member_ids: list[str]) -> str:
        return min(member_ids, key=lambda member_id: len(self.of[member_id]))

    def heap(self, member_ids: list[str]) -> _Heap:
        """For `lightest_in`, as long as loads only grow."""
        heap = [(len(self.of[each]), place, each) for place, each in enumerate(member_ids)]
        heapq.heapify(heap)
        return heap

    def lightest_in(self, heap: _Heap) -> str:
        """The same as `lightest`."""
        while True:
            load, place, member_id = heap[0]
            now = len(self.of[member_id])
            if now == load:
                return member_id
            heapq.heapreplace(heap, (now, place, member_id))

    def targets(self) -> dict[str, Target]:
        targets: dict[str, Target] = {}
        for member_id, partitions in self.of.items():
            by_topic: dict[UUID, set[int]] = {}
            for topic_id, index in partitions:
                by_topic.setdefault(topic_id, set()).add(index)
            targets[member_id] = {topic: frozenset(found) for topic, found in by_topic.items()}
        return targets


def _keep(
    members: list[Candidate], partition_counts: Mapping[UUID, int], loads: _Loads
) -> list[Partition]:
    """Let members keep partitions of topics that they still subscribe to. Returns the others.

    Where all subscribe to the same topics, no member keeps more than its fair share.
    """
    taken: set[Partition] = set()
    total = sum(partition_counts.values())
    same_for_all = len({m.topics for m in members}) == 1
    quota, extra = divmod(total, len(members)) if same_for_all else (total, 0)
    for member in members:
        room = quota + (extra > 0)
        kept = [
            (topic_id, index)
            for topic_id, owned in member.owned.items()
            if topic_id in member.topics
            for index in sorted(owned)
            if index < partition_counts.get(topic_id, 0) and (topic_id, index) not in taken
        ][:room]
        extra -= len(kept) > quota
        taken.update(kept)
        for partition in kept:
            loads.give(partition, member.member_id)
    return [
        (topic_id, index)
        for topic_id, count in partition_counts.items()
        for index in range(count)
        if (topic_id, index) not in taken
    ]


def _even_out(loads: _Loads, subscribers: Mapping[UUID, list[str]]) -> None:
    """Move partitions from members to others that have at least two fewer, while there are such.

    Each move makes the sum of the squared loads smaller, so this ends.
    """
    moved = True
    while moved:
        moved = False
        least = min(map(len, loads.of.values()), default=0)
        for member_id in sorted(loads.of, key=lambda m: -len(loads.of[m])):
            if len(loads.of[member_id]) - least < 2:
                break  # no member has two fewer than this one or those that follow
            for partition in list(loads.of[member_id]):
                other = loads.lightest(subscribers[partition[0]])
                if len(loads.of[member_id]) - len(loads.of[other]) >= 2:
                    del loads.of[member_id][partition]
                    loads.give(partition, other)
                    moved = True


ASSIGNORS: dict[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}
