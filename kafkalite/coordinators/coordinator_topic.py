"""A topic of coordinators. It is not compiled: interpreted classes inherit from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafkalite.group_coordinator.java_hash import partition_of_key
from kafkalite.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkalite.replica.partition import Partition
    from kafkalite.replica.topics import Topic, Topics


class CoordinatorTopic:
    """An internal topic by whose keys coordinators are found. `now_ms` stamps the records."""

    def __init__(self, topics: Topics, name: str, now_ms: Callable[[], int]) -> None:
        self._topics = topics
        self._name = name
        self._now_ms = now_ms

    @property
    def topic(self) -> Topic | None:
        """None before the first need."""
        return self._topics.get(self._name)

    @property
    def partition_count(self) -> int:
        """0 while the topic does not exist."""
        topic = self.topic
        return 0 if topic is None else len(topic.partitions)

    def index_of(self, key: str) -> int:
        """The partition of a key. Raises KafkaError(NOT_COORDINATOR) before the topic exists."""
        count = self.partition_count
        if not count:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return partition_of_key(key, count)

    def partition(self, index: int) -> Partition:
        """A partition. Raises KafkaError(NOT_COORDINATOR) if it does not exist."""
        topic = self.topic
        if topic is None or index >= len(topic.partitions):
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return topic.partitions[index]
