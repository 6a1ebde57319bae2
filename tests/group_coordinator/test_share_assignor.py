"""The simple assignor: every partition somebody's, everybody something, as even as it gets."""

from __future__ import annotations

import random
from uuid import UUID

import pytest

from kafkalite.group_coordinator.assignors import Candidate, Target
from kafkalite.group_coordinator.share_assignor import assign_simple
from tests.least_time import least_seconds

TOPICS = [UUID(int=number) for number in range(1, 5)]


def members(count: int, topics: frozenset[UUID], owned: dict[str, Target]) -> list[Candidate]:
    names = [f"m{number}" for number in range(count)]
    return [Candidate(name, None, topics, owned.get(name, {})) for name in names]


def all_ready(topic_id: UUID, partition: int) -> bool:
    return True


def loads(targets: dict[str, Target]) -> list[int]:
    return sorted(sum(len(p) for p in target.values()) for target in targets.values())


def holders(targets: dict[str, Target]) -> dict[tuple[UUID, int], int]:
    found: dict[tuple[UUID, int], int] = {}
    for target in targets.values():
        for topic_id, partitions in target.items():
            for partition in partitions:
                found[topic_id, partition] = found.get((topic_id, partition), 0) + 1
    return found


@pytest.mark.parametrize("partition_count", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("member_count", [1, 2, 3, 5, 8, 20])
def test_members_that_subscribe_alike(member_count: int, partition_count: int) -> None:
    counts = {TOPICS[0]: partition_count}
    targets = assign_simple(members(member_count, frozenset(TOPICS[:1]), {}), counts, all_ready)
    found = holders(targets)
    assert found.keys() == {(TOPICS[0], index) for index in range(partition_count)}
    sharing = -(-member_count // partition_count)
    assert set(found.values()) == {sharing}
    spread = loads(targets)
    assert spread[-1] - spread[0] <= 1
    assert spread[0] >= 1


@pytest.mark.parametrize("seed", range(30))
def test_changes_move_little_and_end_even(seed: int) -> None:
    chance = random.Random(seed)
    topics = frozenset(TOPICS[:2])
    counts = {topic: chance.randrange(1, 9) for topic in topics}
    owned: dict[str, Target] = {}
    for _ in range(6):
        member_count = chance.randrange(1, 12)
        targets = assign_simple(members(member_count, topics, owned), counts, all_ready)
        partitions = sum(counts.values())
        sharing = -(-member_count // partitions)
        assert set(holders(targets).values()) == {sharing}
        spread = loads(targets)
        assert spread[-1] - spread[0] <= 1
        again = assign_simple(members(member_count, topics, targets), counts, all_ready)
        assert again == targets, "nothing moves when nothing has changed"
        owned = targets


@pytest.mark.parametrize("seed", range(8))
def test_members_come_and_go_and_topics_grow(seed: int) -> None:
    """In some of these only members that have a partition already have room for it."""
    chance = random.Random(seed)
    for _ in range(60):
        topics = frozenset(TOPICS[: chance.randrange(1, 3)])
        counts = {topic: chance.randrange(1, 6) for topic in topics}
        owned: dict[str, Target] = {}
        for _ in range(4):
            names = sorted(chance.sample(range(12), chance.randrange(1, 9)))
            candidates = [
                Candidate(f"m{name}", None, topics, owned.get(f"m{name}", {})) for name in names
            ]
            targets = assign_simple(candidates, counts, all_ready)
            sharing = -(-len(names) // sum(counts.values()))
            assert set(holders(targets).values()) == {sharing}
            assert len(holders(targets)) == sum(counts.values())
            spread = loads(targets)
            assert spread[-1] - spread[0] <= 1
            owned |= targets
            counts = {topic: count + chance.randrange(2) for topic, count in counts.items()}


@pytest.mark.parametrize("partition_count", [10, 1000])
def test_a_thousand_members_are_quick(partition_count: int) -> None:
    """It took 210 ms when every partition looked at every member."""
    topic = UUID(int=1)
    members = [Candidate(f"m{each}", None, frozenset({topic}), {}) for each in range(1000)]

    def assign() -> dict[str, Target]:
        return assign_simple(members, {topic: partition_count}, lambda *_: True)

    assert least_seconds(assign) < 0.04
    targets = assign()
    assert all(len(targets[each.member_id][topic]) == 1 for each in members)


def test_only_partitions_with_a_state_are_given() -> None:
    targets = assign_simple(
        members(2, frozenset(TOPICS[:1]), {}),
        {TOPICS[0]: 4},
        lambda topic_id, partition: partition < 1,
    )
    assert holders(targets) == {(TOPICS[0], 0): 2}


@pytest.mark.parametrize("seed", range(20))
def test_members_that_subscribe_to_different_topics(seed: int) -> None:
    chance = random.Random(seed)
    counts = {topic: chance.randrange(1, 6) for topic in TOPICS}
    candidates = [
        Candidate(f"m{number}", None, frozenset(chance.sample(TOPICS, chance.randrange(1, 4))), {})
        for number in range(6)
    ]
    targets = assign_simple(candidates, counts, all_ready)
    for candidate in candidates:
        assert targets[candidate.member_id].keys() <= candidate.topics
    subscribed = {topic for candidate in candidates for topic in candidate.topics}
    found = holders(targets)
    for topic in subscribed:
        assert all(found.get((topic, index)) for index in range(counts[topic]))
