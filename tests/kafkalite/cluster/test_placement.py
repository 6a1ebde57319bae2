"""Replicas are spread over nodes and racks."""

from __future__ import annotations

import pytest

from kafkalite.cluster.placement import place
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import ErrorCode, KafkaError


def test_replicas_are_spread_over_nodes_and_racks() -> None:
    racks: dict[int, str | None] = {1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
    placed = at_once(place(racks, frozenset(), 12, 3, 0))
    for replicas in placed:
        assert {racks[node] for node in replicas} == {"a", "b", "c"}
    leaders = [replicas[0] for replicas in placed]
    assert all(leaders.count(node) == 2 for node in racks)
    first, second = (at_once(place(racks, frozenset(), 1, 1, start)) for start in (0, 1))
    assert first != second


def test_followers_of_one_leader_differ() -> None:
    placed = at_once(place({1: None, 2: None, 3: None}, frozenset(), 6, 2, 0))
    assert len({tuple(replicas) for replicas in placed}) == 6


def test_fenced_nodes_are_used_last() -> None:
    placed = at_once(place({1: None, 2: None}, frozenset({1}), 2, 2, 0))
    assert placed == [[2, 1], [2, 1]]


@pytest.mark.parametrize(
    ("racks", "fenced", "factor", "message"),
    [
        ({1: None}, frozenset[int](), 0, "the replication factor must be positive"),
        (
            {1: None},
            frozenset({1}),
            1,
            "All brokers are currently fenced, or have all their log directories cordoned.",
        ),
        (
            {1: None, 2: None},
            frozenset[int](),
            3,
            "The target replication factor of 3 cannot be reached because only 2 broker",
        ),
    ],
)
def test_what_cannot_be_placed(
    racks: dict[int, str | None], fenced: frozenset[int], factor: int, message: str
) -> None:
    with pytest.raises(KafkaError, match=message) as refused:
        at_once(place(racks, fenced, 1, factor, 0))
    assert refused.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
