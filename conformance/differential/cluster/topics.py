"""Topics whose replicas are chosen by hand, and requests about their partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.wait_ready import assigned_topic
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.create_topics import (
    CreateTopicsRequest,
)
from kafkalite.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kafkalite.wire.record_batch import Record, build_batch

Assignments = Sequence[Sequence[int]]
# By partition: every node leads one, and knows one that it has no replica of.
SPREAD: Assignments = [[1, 2], [2, 3], [3, 1], [2, 1]]
NODES = (1, 2, 3)
TIMESTAMP = 1_700_000_000_000


def create(cluster: Pair, name: str, assignments: Assignments = SPREAD) -> str:
    """Make the topic on both, and wait until every node knows it."""
    request = CreateTopicsRequest(topics=[assigned_topic(name, assignments)])
    answers = cluster.ask(ApiKey.CREATE_TOPICS, 7, request)
    assert answers[0].topics[0].error_code == 0, answers[0]
    cluster.settle()
    for side in cluster.sides:
        side.topic_id(name)
    return name


def described(*topics: str) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name) for name in topics])


def named(side: Side, topic: str, is_by_id: bool, name: str = "name") -> dict[str, Any]:
    """The topic by the name of the field that the version has for it."""
    return {"topic_id": side.topic_id(topic)} if is_by_id else {name: topic}


def producing(
    topic: str, version: int, partitions: Sequence[int], acks: int = -1
) -> Callable[[Side], ProduceRequest]:
    def make(side: Side) -> ProduceRequest:
        records = build_batch([Record(timestamp=TIMESTAMP, key=b"k", value=b"value")])
        data = [PartitionProduceData(index=index, records=records) for index in partitions]
        name = named(side, topic, version >= 13)
        return ProduceRequest(
            acks=acks,
            timeout_ms=10_000,
            topic_data=[TopicProduceData(partition_data=data, **name)],
        )

    return make


def fetching(
    topic: str, version: int, partitions: Sequence[int], *, epoch: int = -1, offset: int = 0
) -> Callable[[Side], FetchRequest]:
    def make(side: Side) -> FetchRequest:
        asked = [
            FetchPartition(
                partition=index,
                fetch_offset=offset,
                partition_max_bytes=1 << 20,
                current_leader_epoch=epoch,
            )
            for index in partitions
        ]
        name = named(side, topic, version >= 13, "topic")
        return FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            session_epoch=-1,
            topics=[FetchTopic(partitions=asked, **name)],
        )

    return make
