"""The uniform assignor for members that subscribe to different topics: an even spread, as even as
the subscriptions allow, and the same one as Apache Kafka's.

Topics come with most partitions per subscriber first. Each gives its free partitions to those of
its subscribers that have fewest, and then moves partitions from those that have most to those that
have fewest, until no topic moves any more. Only topics that are alike in all of that come by their
ids. Source: Kafka's UniformHeterogeneousAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

_NOBODY: Final = -1
# The rounds through all topics, of which each moves something, before the spread is even enough.
_MOST_ROUNDS: Final = 16

Target = Mapping[UUID, frozenset[int]]


class Spread:
    """Members by number, in the order in which they come, with the partitions that they keep."""

    def __init__(
        self,
        kept: Sequence[Target],
        subscribers: Mapping[UUID, Sequence[int]],
        partition_counts: Mapping[UUID, int],
    ) -> None:
        """`kept` are partitions of topics that a member subscribes to."""
        self._subscribers = subscribers
        self._sizes = [0] * len(kept)
        self._owners = {topic: [_NOBODY] * partition_counts[topic] for topic in subscribers}
        for number, target in enumerate(kept):
            for topic, partitions in target.items():
                for partition in partitions:
                    self._owners[topic][partition] = number
                self._sizes[number] += len(partitions)

    def even_out(self) -> list[dict[UUID, frozenset[int]]]:
        """The partitions of each member."""
        topics = sorted(self._subscribers, key=self._place)
        for topic in topics:
            self._give_free(topic)
        self._move([topic for topic in topics if len(self._subscribers[topic]) > 1])
        return self._targets()

    def _place(self, topic: UUID) -> tuple[float, int, int, int]:
        partitions, subscribers = len(self._owners[topic]), len(self._subscribers[topic])
        return -partitions / subscribers, subscribers, *_java_order(topic)

    def _levels(self, topic: UUID) -> _Levels:
        return _Levels(self._subscribers[topic], self._sizes)

    def _give(self, topic: UUID, partition: int, number: int) -> None:
        owners = self._owners[topic]
        if owners[partition] != _NOBODY:
            self._sizes[owners[partition]] -= 1
        owners[partition] = number
        self._sizes[number] += 1

    def _give_free(self, topic: UUID) -> None:
        free = [n for n, owner in enumerate(self._owners[topic]) if owner == _NOBODY]
        if free:
            levels = self._levels(topic)
            for partition in free:
                self._give(topic, partition, levels.next_least())

    def _move(self, topics: Sequence[UUID]) -> None:
        """Until every topic was looked at since the last move."""
        last_moved: UUID | None = None
        for _ in range(_MOST_ROUNDS):
            for topic in topics:
                if topic == last_moved:
                    return
                if self._move_of(topic) or last_moved is None:
                    last_moved = topic

    def _move_of(self, topic: UUID) -> bool:
        """Move partitions of the topic from the most loaded of its subscribers to the least loaded,
        the last ones first; whether there were any to move."""
        sizes = [self._sizes[number] for number in self._subscribers[topic]]
        if max(sizes) - min(sizes) <= 1:
            return False
        levels = self._levels(topic)
        owned: dict[int, list[int]] = {}
        for partition, owner in enumerate(self._owners[topic]):
            owned.setdefault(owner, []).append(partition)
        has_moved = False
        while True:
            most = levels.next_most(owned)
            if most == _NOBODY:
                return has_moved
            partition = owned[most].pop()
            least = levels.next_least()
            if levels.are_even:
                return has_moved
            self._give(topic, partition, least)
            has_moved = True

    def _targets(self) -> list[dict[UUID, frozenset[int]]]:
        found: list[dict[UUID, frozenset[int]]] = [{} for _ in self._sizes]
        for topic, owners in self._owners.items():
            owned: dict[int, list[int]] = {}
            for partition, owner in enumerate(owners):
                owned.setdefault(owner, []).append(partition)
            for owner, partitions in owned.items():
                found[owner][topic] = frozenset(partitions)
        return found


class _Levels:
    """Members by how much they have: those that have least are raised together, level by level, and
    those that have most lowered.

    A member that was asked for gets a partition, or gives one, before the next is asked for.
    """

    def __init__(self, members: Iterable[int], sizes: list[int]) -> None:
        self._sizes = sizes
        self._members = sorted(members, key=lambda number: (sizes[number], number))
        count = len(self._members)
        self._low = sizes[self._members[0]] - 1
        self._low_end = self._next_low = 0
        self._high = sizes[self._members[-1]] + 1
        self._high_start = self._high_end = count
        self._next_high = count - 1

    @property
    def are_even(self) -> bool:
        """True if what is lowered and what is raised have met."""
        return self._high - self._low <= 1

    def next_least(self) -> int:
        """One of those that have least."""
        if self._next_low >= self._low_end:
            self._low += 1
            while self._low_end < len(self._members) and self._has(self._low_end, self._low):
                self._low_end += 1
            self._next_low = 0
        self._next_low += 1
        return self._members[self._next_low - 1]

    def next_most(self, owned: Mapping[int, Sequence[int]]) -> int:
        """One of those that have most, of those that own any of these; -1 if there is none."""
        while True:
            self._find_most()
            if self._next_high < 0:
                return _NOBODY
            found = self._members[self._next_high]
            self._next_high -= 1
            if owned.get(found):
                return found
            self._leave_out(self._next_high + 1)

    def _find_most(self) -> None:
        if self._next_high >= self._high_start:
            return
        if self._high_end <= self._high_start and self._high_start > 0:
            # All were left out: go on with the next that there are, however few they have.
            self._high = self._sizes[self._members[self._high_start - 1]]
        else:
            self._high -= 1
        while self._high_start > 0 and self._has(self._high_start - 1, self._high):
            self._high_start -= 1
        self._next_high = self._high_end - 1

    def _leave_out(self, place: int) -> None:
        self._high_end -= 1
        members, end = self._members, self._high_end
        members[place], members[end] = members[end], members[place]

    def _has(self, place: int, size: int) -> bool:
        return self._sizes[self._members[place]] == size


def _java_order(topic: UUID) -> tuple[int, int]:
    """An id's place among others: two signed numbers of 64 bits."""
    high, low = topic.int >> 64, topic.int & (1 << 64) - 1
    return high - (high >> 63 << 64), low - (low >> 63 << 64)
