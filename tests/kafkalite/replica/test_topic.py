"""A topic as the metadata have it, before its partitions are open."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.cluster.image import PartitionState, TopicState
from kafkalite.replica.topic import assigned_here, without_partitions


@pytest.mark.parametrize(("name", "is_internal"), [("t", False), ("__consumer_offsets", True)])
def test_a_topic_shares_its_states_with_the_metadata(name: str, *, is_internal: bool) -> None:
    state = TopicState(name, UUID(int=5))
    topic = without_partitions(state, {"retention.ms": "5"})
    assert (topic.name, topic.topic_id, topic.is_internal) == (name, UUID(int=5), is_internal)
    assert topic.states is state.partitions
    assert topic.partitions == []
    assert topic.configs == {"retention.ms": "5"}


@pytest.mark.parametrize(
    ("directories", "here"),
    [([], []), ([7], []), ([7, 8, 9], [8, 9])],
)
def test_the_directories_of_the_nodes_that_are_here(
    directories: list[int], here: list[int]
) -> None:
    state = PartitionState([1, 2, 3], [1], 1, 0, 0, [UUID(int=each) for each in directories])
    assert assigned_here(state, {2, 3}) == [UUID(int=each) for each in here]
