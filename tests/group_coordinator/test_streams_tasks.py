"""Tasks as values: together, shared, contained."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.group_coordinator.streams_tasks import (
    AssignedTasks,
    Tasks,
    listed,
    partitions_of,
    task_ids,
)
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    TaskIds,
)

ONE = {"0": frozenset({1})}
HAS = AssignedTasks({"0": {1: 5}}, {"1": frozenset({2})}, {"2": frozenset({3})})


def test_nothing_is_empty() -> None:
    assert Tasks().is_empty
    assert AssignedTasks().is_empty
    for kind in ("active", "standby", "warmup"):
        assert not Tasks(**{kind: ONE}).is_empty
    assert not HAS.is_empty


def test_both_together() -> None:
    more = AssignedTasks({"0": {2: 6}, "9": {0: 6}}, {"1": frozenset({4})}, {})
    assert HAS.merged(more) == AssignedTasks(
        {"0": {1: 5, 2: 6}, "9": {0: 6}}, {"1": frozenset({2, 4})}, {"2": frozenset({3})}
    )
    assert HAS.active == {"0": {1: 5}}, "a value"


@pytest.mark.parametrize(
    ("said", "shares"),
    [
        (Tasks(), False),
        (Tasks(active={"0": frozenset({1, 2})}), True),
        (Tasks(active={"0": frozenset({2})}), False),
        (Tasks(active={"1": frozenset({1})}), False),
        (Tasks(standby={"1": frozenset({2})}), True),
        (Tasks(standby={"0": frozenset({1})}), False),
        (Tasks(warmup={"2": frozenset({3})}), True),
        (Tasks(warmup={"2": frozenset({4})}), False),
    ],
)
def test_what_is_shared_with_them(said: Tasks, shares: bool) -> None:
    assert HAS.shares_any(said) is shares


@pytest.mark.parametrize(
    ("said", "contains"),
    [
        ({}, True),
        ({"active": [("0", [1])], "standby": [("1", [2])], "warmup": [("2", [3])]}, True),
        ({"active": [("0", [])]}, True),
        ({"active": [("0", [1, 2])]}, False),
        ({"active": [("1", [1])]}, False),
        ({"active": [("1", [])]}, False),
        ({"standby": [("0", [1])]}, False),
        ({"warmup": [("2", [4])]}, False),
        ({"active": None}, False),
        ({"standby": None}, False),
        ({"warmup": None}, False),
    ],
)
def test_what_is_among_them(
    said: dict[str, list[tuple[str, list[int]]] | None], contains: bool
) -> None:
    tasks: dict[str, Any] = {
        f"{kind}_tasks": None
        if listed is None
        else [TaskIds(subtopology_id=name, partitions=indexes) for name, indexes in listed]
        for kind, listed in ({"active": [], "standby": [], "warmup": []} | said).items()
    }
    assert HAS.contains(StreamsGroupHeartbeatRequest(**tasks)) is contains


def test_tasks_of_messages() -> None:
    listed = [TaskIds(subtopology_id="0", partitions=[2, 1]), TaskIds(subtopology_id="1")]
    assert partitions_of(listed) == {"0": frozenset({1, 2})}
    assert partitions_of(None) == {}
    assert sorted(task_ids({"0": [1, 2]})) == [("0", 1), ("0", 2)]


def test_tasks_in_messages_are_in_order() -> None:
    expected = [
        TaskIds(subtopology_id="0", partitions=[1, 2]),
        TaskIds(subtopology_id="1", partitions=[3]),
    ]
    assert listed(TaskIds, {"1": frozenset({3}), "0": frozenset({2, 1})}) == expected
    assert listed(TaskIds, {"1": {3: 1}, "0": {2: 5, 1: 4}}) == expected
