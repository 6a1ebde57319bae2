"""Partitions of a consumer group are assigned by hand, to consumers that follow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from kafkalite.control.answers import GroupView
from kafkalite.control.problems import Problem
from kafkalite.testing import broker as test_broker
from tests.kafkalite.control.clients import Polling, consumer


@pytest.fixture
def two(k: test_broker) -> Iterator[test_broker]:
    """Two consumers, "a" and "b", share four partitions."""
    k.create_topic("t", partitions=4)
    k.create_topic("other")
    with ExitStack() as stack:
        for name in ("a", "b"):
            made = consumer(k, **{"group.protocol": "consumer", "client.id": name})
            stack.enter_context(Polling(made, "t"))
        k.wait.group("g", members=2, assigned=True)
        yield k


def has(shown: GroupView) -> dict[str, list[int]]:
    return {each.client_id: sorted(each.assigned.get("t", [])) for each in shown.members}


def test_members_take_what_they_are_told_to(two: test_broker) -> None:
    group = two.group("g")
    before = group.show()
    assert sorted(map(len, has(before).values())) == [2, 2]
    shown = group.assign({"a": {"t": [0, 1, 3]}, "b": {"t": [2]}})
    assert shown.generation == before.generation + 1
    two.wait.group("g", members=2, assigned=True)
    assert has(group.show()) == {"a": [0, 1, 3], "b": [2]}
    group.assign({"b": {"t": [0]}})
    two.wait.group("g", assigned=True)
    assert has(group.show()) == {"a": [], "b": [0]}


def test_it_lasts_until_the_group_is_assigned_anew(two: test_broker) -> None:
    group = two.group("g")
    group.assign({"a": {"t": [0, 1, 2, 3]}})
    two.wait.group("g", assigned=True)
    begun = group.rebalance()
    two.wait.group("g", assigned=True, generation=begun.generation)
    assert sorted(map(len, has(group.show()).values())) == [2, 2]


@pytest.mark.parametrize(
    ("assignment", "told"),
    [
        ({"c": {"t": [0]}}, "no member 'c'"),
        ({"a": {"none": [0]}}, "no topic 'none'"),
        ({"a": {"other": [0]}}, "a does not subscribe to other"),
        ({"a": {"t": [4]}}, "no partition 't-4'"),
        ({"a": {"t": [1]}, "b": {"t": [1]}}, "t-1 is assigned twice"),
    ],
)
def test_what_cannot_be_assigned(
    two: test_broker, assignment: dict[str, dict[str, list[int]]], told: str
) -> None:
    before = two.group("g").show()
    with pytest.raises(Problem, match=told):
        two.group("g").assign(assignment)
    assert has(two.group("g").show()) == has(before)


def test_members_of_one_name_are_told_apart_by_their_ids(k: test_broker) -> None:
    k.create_topic("t", partitions=2)
    with ExitStack() as stack:
        for _ in range(2):
            made = consumer(k, **{"group.protocol": "consumer"})
            stack.enter_context(Polling(made, "t"))
        k.wait.group("g", members=2, assigned=True)
        ids = [each.member_id for each in k.group("g").show().members]
        with pytest.raises(Problem, match="2 members are called reader"):
            k.group("g").assign({"reader": {"t": [0]}})
        k.group("g").assign({ids[0]: {"t": [0, 1]}})
        k.wait.group("g", assigned=True)
        shown = {each.member_id: each.assigned for each in k.group("g").show().members}
        assert shown == {ids[0]: {"t": [0, 1]}, ids[1]: {}}


def test_a_member_is_named_once(two: test_broker) -> None:
    (first,) = [each for each in two.group("g").show().members if each.client_id == "a"]
    with pytest.raises(Problem, match="is named twice"):
        two.group("g").assign({"a": {"t": [0]}, first.member_id: {"t": [1]}})


def test_a_classic_group_assigns_in_its_leader(k: test_broker) -> None:
    k.create_topic("t")
    with Polling(consumer(k), "t"):
        k.wait.group("g", members=1, assigned=True)
        with pytest.raises(Problem, match="group g is a classic group"):
            k.group("g").assign({"reader": {"t": [0]}})
