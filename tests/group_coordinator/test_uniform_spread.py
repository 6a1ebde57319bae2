"""Members with different topics: who gets what is what Apache Kafka 4.3.1 gave them."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.group_coordinator.uniform_spread import Spread

A, B, C = (UUID(int=number) for number in (1, 2, 3))


def spread(subscribed, counts, kept=None):
    """The partitions of each member, as sorted lists by topic."""
    subscribers = {
        topic: [n for n, topics in enumerate(subscribed) if topic in topics]
        for topic in counts
        if any(topic in topics for topics in subscribed)
    }
    targets = Spread(kept or [{}] * len(subscribed), subscribers, counts).even_out()
    return [{topic: sorted(found) for topic, found in target.items()} for target in targets]


@pytest.mark.parametrize(
    ("subscribed", "counts", "kept", "expected"),
    [
        # The newer member gets the last partition, and the older one keeps the first.
        (
            [{A}, {A, B}],
            {A: 2, B: 1},
            [{}, {A: frozenset({0, 1}), B: frozenset({0})}],
            [{A: [1]}, {A: [0], B: [0]}],
        ),
        (
            [{A, B}, {A}],
            {A: 2, B: 1},
            [{A: frozenset({0, 1}), B: frozenset({0})}, {}],
            [{A: [0], B: [0]}, {A: [1]}],
        ),
        # Most partitions for each subscriber come first.
        ([{A}, {A, B}], {A: 2, B: 3}, None, [{A: [0, 1]}, {B: [0, 1, 2]}]),
        ([{A, B}, {B, C}], {A: 1, B: 4, C: 1}, None, [{A: [0], B: [0, 2]}, {B: [1, 3], C: [0]}]),
        # Nobody is left for a topic, or for a member.
        ([{A}, set()], {A: 2, B: 1}, None, [{A: [0, 1]}, {}]),
    ],
)
def test_each_gets_what_apache_kafka_gives(subscribed, counts, kept, expected):
    assert spread(subscribed, counts, kept) == expected


def test_topics_that_are_alike_come_by_ids_as_java_compares_them():
    """Java takes an id for two numbers of 64 bits, with signs."""
    late, early = UUID(int=1), UUID(int=1 << 127)
    found = spread([{late, early}, {late, early}, {C}], {late: 1, early: 1, C: 1})
    assert found == [{early: [0]}, {late: [0]}, {C: [0]}]


@st.composite
def groups(draw):
    topics = [UUID(int=number) for number in range(1, 5)]
    counts = {topic: draw(st.integers(1, 6)) for topic in topics}
    count = draw(st.integers(1, 6))
    subscribed = [draw(st.sets(st.sampled_from(topics))) for _ in range(count)]
    kept = [{} for _ in subscribed]
    for topic, partitions in counts.items():
        for partition in range(partitions):
            number = draw(st.integers(0, count))
            if number < count and topic in subscribed[number]:
                before = kept[number].get(topic, frozenset())
                kept[number][topic] = before | {partition}
    return subscribed, counts, kept


@given(groups())
def test_every_partition_has_one_owner_who_wants_it(group):
    subscribed, counts, kept = group
    found = spread(subscribed, counts, kept)
    for topic, partitions in counts.items():
        owners = [n for n, target in enumerate(found) for _ in target.get(topic, ())]
        is_wanted = any(topic in topics for topics in subscribed)
        assert len(owners) == (partitions if is_wanted else 0)
        assert all(topic in subscribed[number] for number in owners)


@given(groups())
def test_what_was_spread_stays(group):
    subscribed, counts, kept = group
    once = spread(subscribed, counts, kept)
    again = [{topic: frozenset(found) for topic, found in target.items()} for target in once]
    assert spread(subscribed, counts, again) == once
