"""A topic of coordinators: the partition of a key, and what is told before there is any."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.coordinators.coordinator_topic import CoordinatorTopic
from kafkalite.group_coordinator.java_hash import partition_of_key
from kafkalite.replica.topic import Topic
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.fields import NO_UUID

NAME = "__transaction_state"


class Topics:
    def __init__(self) -> None:
        self.found: dict[str, Topic] = {}

    def get(self, name: str) -> Topic | None:
        return self.found.get(name)


def test_the_partition_of_a_key() -> None:
    topics: Any = Topics()
    topic = CoordinatorTopic(topics, NAME, lambda: 0)
    assert topic.partition_count == 0
    with pytest.raises(KafkaError) as refused:
        topic.index_of("billing")
    assert refused.value.code is ErrorCode.NOT_COORDINATOR
    partitions: list[Any] = ["first", "second", "third"]
    topics.found[NAME] = Topic(NAME, NO_UUID, True, partitions, [], {})
    assert topic.partition_count == 3
    index = topic.index_of("billing")
    assert index == partition_of_key("billing", 3)
    assert topic.partition(index) == partitions[index]
    with pytest.raises(KafkaError) as refused:
        topic.partition(3)
    assert refused.value.code is ErrorCode.NOT_COORDINATOR
