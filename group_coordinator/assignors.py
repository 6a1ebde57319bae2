"""Assignors that the coordinator runs for groups of KIP-848.

    range     each topic cut into ranges, the same members in the same order for every topic, so
    that
              partitions with one number (co-partitioned topics) fall to one member
    uniform   equally many partitions for everybody, moving as few as that allows

Pure functions of subscriptions, partition counts and the assignment before. Every partition of a
subscribed topic gets exactly one member that subscribes to the topic. Source: Kafka's RangeAssignor
and UniformAssignor.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from uuid import UUID

from msgspec import Struct

from kafkalite.wire.java_order import in_map_order, in_set_order, in_timeline_order

Partition = tuple[UUID, int]
Target = Mapping[UUID, frozenset[int]]
"""Partitions by topic."""


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
    if {m.topics for m in members} == {frozenset(partition_counts)}:
        return _share_out(members, _Numbered(partition_counts))
    return _spread(members, partition_counts)


def _share_out(members: list[Candidate], numbered: "_Numbered") -> dict[str, Target]:
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
    given: dict[str, list[int]] = {}
    for place, member_id in enumerate(in_map_order(in_timeline_order(owned))):
        share = quota + (larger > 0)
        kept = owned[member_id][:share]
        free += owned[member_id][share:]
        if share > quota and len(kept) < share and len(members) - place > larger:
            share = quota
        larger -= share > quota
        room[member_id] = share - len(kept)
        given[member_id] = kept
    rest = iter(free)
    return {
        member_id: numbered.by_topic([*given[member_id], *itertools.islice(rest, count)])
        for member_id, count in room.items()
    }


def _spread(members: list[Candidate], partition_counts: Mapping[UUID, int]) -> dict[str, Target]:
    """Members subscribe to different topics."""
    from kafkalite.group_coordinator.uniform_spread import Spread  # with the first such group

    by_id = {member.member_id: member for member in members}
    ids = in_map_order(in_timeline_order(by_id))
    in_order = [by_id[member_id] for member_id in ids]
    kept = [
        {
            topic: owned
            for topic, owned in member.owned.items()
            if topic in member.topics and topic in partition_counts
        }
        for member in in_order
    ]
    spread = Spread(kept, _subscribers(in_order, partition_counts), partition_counts)
    return dict(zip(ids, spread.even_out(), strict=True))


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


def _subscribers(members: list[Candidate], topics: Iterable[UUID]) -> dict[UUID, Sequence[int]]:
    """The numbers of the members of each topic, in order; topics with the same share a list.

    Members that subscribe to the same topics are looked at together: a hundred members of 10,000
    topics are a million pairs.
    """
    places: dict[frozenset[UUID], list[int]] = {}
    for place, member in enumerate(members):
        places.setdefault(member.topics, []).append(place)
    lists: dict[tuple[bool, ...], list[int]] = {}
    found: dict[UUID, Sequence[int]] = {}
    for topic_id in topics:
        which = tuple([topic_id in subscribed for subscribed in places])
        of_topic = lists.get(which)
        if of_topic is None:
            of_topic = lists[which] = sorted(
                place
                for is_in, those in zip(which, places.values(), strict=True)
                if is_in
                for place in those
            )
        if of_topic:
            found[topic_id] = of_topic
    return found


ASSIGNORS: dict[str, Assignor] = {"uniform": assign_uniform, "range": assign_range}
