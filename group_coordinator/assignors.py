"""Assignors that the coordinator runs for groups of KIP-848.

    range     each topic cut into ranges, the same members in the same order for every topic, so
    that
              partitions with one number (co-partitioned topics) fall to one member
    uniform   equally many partitions for everybody, moving as few as that allows

Pure functions of subscriptions, partition counts and the assignment before. Every partition of a
subscribed topic gets exactly one member that subscribes to the topic. Source: Kafka's RangeAssignor
and UniformAssignor. Where members subscribe to different topics, uniform's result differs from
Kafka's in which member gets what, not in how many.
"""

import heapq
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from uuid import UUID

from msgspec import Struct

from kafkalite.wire.java_order import in_map_order, in_set_order, in_timeline_order

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
    numbered = _Numbered(partition_counts)
    loads = _Loads(members)
    if {m.topics for m in members} == {frozenset(partition_counts)}:
        _share_out(members, numbered, loads)
    else:
        _spread(members, partition_counts, numbered, loads)
    return {member_id: numbered.by_topic(given) for member_id, given in loads.of.items()}


def _share_out(members: list[Candidate], numbered: "_Numbered", loads: "_Loads") -> None:
    """All subscribe to the same topics: each has its fair share, the first members the lowest
    partitions of those that no member keeps.

    Members come in the order of Kafka's hash tables, but for some that share a bucket. Shares that
    are one larger fall to those who had so many, and for the rest to the last members.
    """
    owned = {m.member_id: numbered.owned(m) for m in members}
    taken = {number for of_member in owned.values() for number in of_member}
    free = [number for number in range(numbered.total) if number not in taken]
    quota, larger = divmod(numbered.total, len(members))
    room: dict[str, int] = {}
    for place, member_id in enumerate(in_map_order(in_timeline_order(owned))):
        share = quota + (larger > 0)
        kept = owned[member_id][:share]
        free += owned[member_id][share:]
        if share > quota and len(kept) < share and len(members) - place > larger:
            share = quota
        larger -= share > quota
        room[member_id] = share - len(kept)
        for number in kept:
            loads.give(number, member_id)
    rest = iter(free)
    for member_id, count in room.items():
        for number in itertools.islice(rest, count):
            loads.give(number, member_id)


def _spread(
    members: list[Candidate],
    partition_counts: Mapping[UUID, int],
    numbered: "_Numbered",
    loads: "_Loads",
) -> None:
    """Members subscribe to different topics: each partition goes to the one that has fewest."""
    free = _keep(members, numbered, loads)
    # Partitions that fewest members could take go first: the rest can even out the others.
    of_topics = _subscribers(members, partition_counts)
    subscribers = [
        of_topic for of_topic, n in zip(of_topics, numbered.counts, strict=True) for _ in range(n)
    ]
    free.sort(key=lambda number: len(subscribers[number]))
    heaps = {id(found): loads.heap(found) for found in of_topics}
    for number in free:
        heap = heaps[id(subscribers[number])]
        if heap:
            loads.give(number, loads.lightest_in(heap))
    _even_out(loads, subscribers)


class _Numbered:
    """All partitions by one number, topic after topic: ids of topics are slow keys."""

    def __init__(self, partition_counts: Mapping[UUID, int]) -> None:
        self.topics = list(partition_counts)
        self.counts = list(partition_counts.values())
        self.total = sum(self.counts)
        self.places = {topic_id: place for place, topic_id in enumerate(self.topics)}
        self.ends: list[int] = []
        end = 0
        for count in self.counts:
            end += count
            self.ends.append(end)

    def owned(self, member: Candidate) -> list[int]:
        """The member's partitions, of the topics that it subscribes to."""
        found: list[int] = []
        for topic_id, indexes in member.owned.items():
            place = self.places.get(topic_id)
            if place is not None and topic_id in member.topics:
                count, start = self.counts[place], self.ends[place] - self.counts[place]
                found += [start + index for index in in_set_order(indexes) if index < count]
        return found

    def by_topic(self, numbers: Iterable[int]) -> Target:
        """Partitions as the target of a member."""
        found: dict[UUID, frozenset[int]] = {}
        place, start = 0, 0
        indexes: list[int] = []
        for number in sorted(numbers):
            if number >= self.ends[place]:
                if indexes:
                    found[self.topics[place]] = frozenset(indexes)
                    indexes = []
                while number >= self.ends[place]:
                    place += 1
                start = self.ends[place] - self.counts[place]
            indexes.append(number - start)
        if indexes:
            found[self.topics[place]] = frozenset(indexes)
        return found


def _subscribers(members: list[Candidate], topics: Iterable[UUID]) -> list[list[str]]:
    """The ids of the members of each topic, in order. Topics with the same members share a list.

    Members that subscribe to the same topics are looked at together: a hundred members of 10,000
    topics are a million pairs.
    """
    places: dict[frozenset[UUID], list[int]] = {}
    for place, member in enumerate(members):
        places.setdefault(member.topics, []).append(place)
    lists: dict[tuple[bool, ...], list[str]] = {}
    found: list[list[str]] = []
    for topic_id in topics:
        which = tuple([topic_id in subscribed for subscribed in places])
        of_topic = lists.get(which)
        if of_topic is None:
            here = sorted(
                place
                for is_in, those in zip(which, places.values(), strict=True)
                if is_in
                for place in those
            )
            of_topic = lists[which] = [members[place].member_id for place in here]
        found.append(of_topic)
    return found


class _Loads:
    """The assignment so far: the numbers of partitions by member."""

    def __init__(self, members: list[Candidate]) -> None:
        self.of: dict[str, dict[int, None]] = {m.member_id: {} for m in members}

    def give(self, number: int, member_id: str) -> None:
        self.of[member_id][number] = None

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


def _keep(members: list[Candidate], numbered: _Numbered, loads: _Loads) -> list[int]:
    """Let members keep partitions of topics that they still subscribe to. Returns the others."""
    taken = bytearray(numbered.total)
    for member in members:
        for number in numbered.owned(member):
            if not taken[number]:
                taken[number] = 1
                loads.give(number, member.member_id)
    return [number for number in range(numbered.total) if not taken[number]]


def _even_out(loads: _Loads, subscribers: Sequence[list[str]]) -> None:
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
            for number in list(loads.of[member_id]):
                other = loads.lightest(subscribers[number])
                if len(loads.of[member_id]) - len(loads.of[other]) >= 2:
                    del loads.of[member_id][number]
                    loads.give(number, other)
                    moved = True


ASSIGNORS: dict[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}
