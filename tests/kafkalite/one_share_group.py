"""A broker without sockets, its topic t, and the share partitions of a group that reads it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from kafkalite.clock import SystemClock
from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.coordinators.share_adapter import ShareServices
from kafkalite.replica.partition import Partition
from kafkalite.replica.share.acquisition import Wanted
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.replica.share.share_partitions import SharePartitions
from kafkalite.replica.share.share_reader import Fetched, Limits, ShareReader
from kafkalite.replica.share.share_sessions import SessionKey, TopicPartitionId
from kafkalite.replica.topics import Topics
from kafkalite.requests.slices import at_once
from kafkalite.services import Services
from kafkalite.wire.record_batch import Record, build_batch
from tests.kafkalite.server.one_dispatcher import one_dispatcher

GROUP = "queue"
MEMBER = SessionKey(GROUP, "member")
NODE = 1
NOW_MS = 1_700_000_000_000


def topic_created(topics: Topics, name: str, partitions: int) -> UUID:
    """The id of a new topic."""
    topics.create(NewTopic(name, partitions))
    topic = topics.get(name)
    assert topic is not None
    return topic.topic_id


class OneShareGroup:
    """`now` is the clock of locks, in seconds. States are stored by the share coordinator."""

    def __init__(self, services: Services, partitions: int) -> None:
        self.services = services
        self.now = 0.0
        self.topic_id = topic_created(services.topics, "t", partitions)
        self.share: ShareServices = services.share
        self.partitions = SharePartitions(
            services.topics,
            self.share,
            self.share.settings,
            most_sessions=lambda: 10,
            clock=SystemClock(seconds=lambda: self.now),
        )

    def where(self, index: int = 0) -> TopicPartitionId:
        return TopicPartitionId(self.topic_id, index)

    def key(self, index: int = 0) -> SharePartitionKey:
        return SharePartitionKey(GROUP, self.topic_id, index)

    def partition(self, index: int = 0) -> Partition:
        topic = self.services.topics.by_id(self.topic_id)
        assert topic is not None
        return topic.partitions[index]

    def initialize(self, index: int = 0, start_offset: int = 0, state_epoch: int = 1) -> None:
        self.share.initialize_state(GROUP, self.topic_id, index, state_epoch, start_offset)

    def reader(
        self,
        where: Sequence[TopicPartitionId],
        wanted: Wanted,
        limits: Limits | None = None,
        *,
        node_id: int = NODE,
        group_id: str = GROUP,
    ) -> ShareReader:
        """A fetch of these partitions, which are open."""
        limits = limits or Limits(1, 1 << 20)
        reader = ShareReader(self.partitions, node_id, group_id, wanted, limits)
        at_once(reader.opening(where))
        return reader

    def append(self, *values: bytes, index: int = 0, **settings: Any) -> None:
        records = [Record(timestamp=NOW_MS, value=value) for value in values]
        self.partition(index).append(build_batch(records, **settings))


def read(reader: ShareReader) -> dict[TopicPartitionId, Fetched]:
    answers: dict[TopicPartitionId, Fetched] = {}
    at_once(reader.reading(answers))
    return answers


@contextmanager
def one_share_group(
    partitions: int = 2, *, initialized: bool = True, **configs: str
) -> Iterator[OneShareGroup]:
    """`configs` with underscores for dots."""
    properties = {name.replace("_", "."): text for name, text in configs.items()}
    with one_dispatcher(properties) as asked:
        made = OneShareGroup(asked.services, partitions)
        for index in range(partitions if initialized else 0):
            made.initialize(index)
        yield made
