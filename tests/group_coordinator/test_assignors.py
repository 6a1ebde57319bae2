"""The assignors, by what must hold of any assignment."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.group_coordinator.assignors import (
    ASSIGNORS,
    Candidate,
    assign_range,
    assign_uniform,
)
from tests.least_time import least_seconds

A, B = UUID(int=1), UUID(int=2)


def candidates(*subscriptions, owned=None):
    return [
        Candidate(f"m{number}", None, frozenset(topics), (owned or {}).get(f"m{number}", {}))
        for number, topics in enumerate(subscriptions)
    ]


def sizes(targets):
    return [sum(map(len, target.values())) for target in targets.values()]


@st.composite
def groups(draw):
    counts = {
        UUID(int=number): draw(st.integers(1, 12)) for number in range(draw(st.integers(1, 4)))
    }
    topics = st.frozensets(st.sampled_from(sorted(counts)), min_size=0)
    free = [(topic_id, index) for topic_id, count in counts.items() for index in range(count)]
    free += [(UUID(int=99), 0)]  # of a topic that is gone
    members = []
    for number in range(draw(st.integers(1, 8))):
        instance_id = draw(st.none() | st.just(f"i{number}"))
        had = draw(st.lists(st.sampled_from(free), unique=True)) if free else []
        free = [partition for partition in free if partition not in had]
        owned = {topic: frozenset(i for t, i in had if t == topic) for topic, _ in had}
        members.append(Candidate(f"m{number}", instance_id, draw(topics), owned))
    return members, counts


@pytest.mark.slow
@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS)
@given(group=groups())
def test_each_partition_has_exactly_one_owner_who_wants_it(assign, group):
    members, counts = group
    targets = assign(members, counts)
    assert set(targets) == {m.member_id for m in members}
    given_away = [
        (topic_id, index)
        for target in targets.values()
        for topic_id, indexes in target.items()
        for index in indexes
    ]
    assert len(given_away) == len(set(given_away))
    wanted = frozenset().union(*(m.topics for m in members))
    assert set(given_away) == {(t, i) for t in wanted for i in range(counts[t])}
    for m in members:
        assert targets[m.member_id].keys() <= m.topics


@pytest.mark.slow
@given(group=groups())
def test_uniform_is_even_where_all_subscribe_alike(group):
    members, counts = group
    same = [Candidate(m.member_id, m.instance_id, frozenset(counts), m.owned) for m in members]
    loads = sizes(assign_uniform(same, counts))
    assert max(loads) - min(loads) <= 1


@pytest.mark.slow
@given(group=groups())
def test_uniform_leaves_nobody_two_behind_who_could_have_more(group):
    members, counts = group
    targets = assign_uniform(members, counts)
    load = dict(zip(targets, sizes(targets), strict=True))
    for m in members:
        for topic_id in targets[m.member_id]:
            for other in members:
                if topic_id in other.topics:
                    assert load[m.member_id] - load[other.member_id] <= 1


@pytest.mark.slow
@given(group=groups())
def test_uniform_does_not_move_what_is_in_its_place(group):
    members, counts = group
    first = assign_uniform(members, counts)
    again = [Candidate(m.member_id, m.instance_id, m.topics, first[m.member_id]) for m in members]
    assert assign_uniform(again, counts) == first


def test_uniform_moves_no_more_than_it_must():
    owned = {"m0": {A: frozenset(range(6))}, "m1": {A: frozenset(range(6, 12))}}
    targets = assign_uniform(candidates((A,), (A,), (A,), owned=owned), {A: 12})
    assert sizes(targets) == [4, 4, 4]
    assert targets["m0"][A] < owned["m0"][A]
    assert targets["m1"][A] < owned["m1"][A]


def test_uniform_gives_neighbours_and_the_last_members_have_one_more():
    """Apache Kafka does so where no member had anything; the order is that of hash tables."""
    targets = assign_uniform(candidates((A,), (A,), (A,)), {A: 8})
    assert [sorted(targets[f"m{number}"][A]) for number in range(3)] == [
        [0, 1],
        [2, 3, 4],
        [5, 6, 7],
    ]
    members = [Candidate(name, None, frozenset({A}), {}) for name in ("q", "b", "p")]
    targets = assign_uniform(members, {A: 3})
    assert [list(targets[name][A]) for name in ("p", "q", "b")] == [[0], [1], [2]]


def test_uniform_keeps_what_comes_first_in_a_java_set():
    owned = {"m0": {A: frozenset({0, 1, 2, 16, 17})}}
    targets = assign_uniform(candidates(*[(A,)] * 6, owned=owned), {A: 18})
    assert targets["m0"][A] == {0, 16, 1}
    # Partitions that no member had are given first, then those that were taken from members.
    assert targets["m1"][A] == {3, 4, 5}
    assert targets["m5"][A] == {15, 17, 2}


def test_uniform_is_quick_with_a_thousand_members():
    """It took 135 ms when every partition looked at every member."""
    topic = UUID(int=1)
    members = [Candidate(f"m{each}", None, frozenset({topic}), {}) for each in range(1000)]
    assert least_seconds(lambda: assign_uniform(members, {topic: 1000})) < 0.04
    targets = assign_uniform(members, {topic: 1000})
    assert all(len(targets[each.member_id][topic]) == 1 for each in members)


def test_uniform_is_quick_with_a_hundred_members_of_ten_thousand_topics():
    """It took 800 ms when every topic looked at every member."""
    topics = [UUID(int=each) for each in range(10_000)]
    members = [Candidate(f"m{each}", None, frozenset(topics), {}) for each in range(100)]
    counts = dict.fromkeys(topics, 1)
    assert least_seconds(lambda: assign_uniform(members, counts)) < 0.4
    assert {len(target) for target in assign_uniform(members, counts).values()} == {100}


def test_range_gives_each_topic_in_ranges():
    targets = assign_range(candidates((A, B), (A, B), (A,)), {A: 7, B: 3})
    assert targets == {
        "m0": {A: frozenset({0, 1, 2}), B: frozenset({0, 1})},
        "m1": {A: frozenset({3, 4}), B: frozenset({2})},
        "m2": {A: frozenset({5, 6})},
    }


def test_range_puts_static_members_first():
    topics = frozenset({A})
    members = [
        Candidate("a", None, topics, {}),
        Candidate("c", "two", topics, {}),
        Candidate("b", "one", topics, {}),
    ]
    targets = assign_range(members, {A: 3})
    assert [list(targets[m][A]) for m in ("c", "b", "a")] == [[1], [0], [2]]
