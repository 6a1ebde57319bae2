"""A topic as the metadata have it, before its partitions are open."""

from __future__ import annotations

import logging
from typing import Any
from uuid import UUID

import pytest

from kafkalite.cluster.image import PartitionState, TopicState
from kafkalite.replica.topic import assigned_here, without_partitions
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest


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


async def test_the_log_tells_which_topics_come_grow_and_go(
    broker: test_broker, client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "kafkalite.replica.topic")
    broker.create_topic("t", partitions=2)
    grown = CreatePartitionsTopic(name="t", count=5, assignments=None)
    await client.ask(CreatePartitionsRequest(topics=[grown], timeout_ms=1000))
    for is_checked_only in (True, False):
        topics = [
            CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in "tu"
        ]
        request = CreateTopicsRequest(topics=topics, validate_only=is_checked_only)
        await client.ask(request)
    broker.delete_topic("t")
    assert caplog.messages == [
        "topic t created: 2 partition(s)",
        "topic t has grown: 5 partition(s)",
        "topic u created: 1 partition(s)",
        "topic t deleted",
    ]
