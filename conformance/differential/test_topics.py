"""CreateTopics, DeleteTopics, CreatePartitions, DescribeTopicPartitions."""

from typing import Any
from uuid import UUID

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkalite.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalite.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    TopicRequest,
)

CREATE_VERSIONS = range(2, 8)
DELETE_VERSIONS = range(1, 7)
PARTITIONS_VERSIONS = range(4)


def wanted(name: str, partitions: int = 1, replicas: int = 1, **options: Any) -> CreatableTopic:
    return CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=replicas, **options
    )


def config(name: str, value: str | None) -> list[CreatableTopicConfig]:
    return [CreatableTopicConfig(name=name, value=value)]


def placed(*assignments: list[int], first: int = 0) -> list[CreatableReplicaAssignment]:
    return [
        CreatableReplicaAssignment(partition_index=first + i, broker_ids=brokers)
        for i, brokers in enumerate(assignments)
    ]


GOOD = {
    "plain": {},
    "defaults": {"partitions": -1, "replicas": -1},
    "many partitions": {"partitions": 20},
    "with a config": {"configs": config("retention.ms", "1000")},
    "with two policies": {"configs": config("cleanup.policy", "compact,delete")},
    "with odd spelling": {"configs": config("min.cleanable.dirty.ratio", "0.5e0")},
    "with odd case": {"configs": config("unclean.leader.election.enable", "TRUE")},
    "with blanks": {"configs": config("cleanup.policy", " compact , delete")},
    "placed by hand": {"partitions": -1, "replicas": -1, "assignments": placed([1], [1])},
}
BAD = {
    "no partitions": {"partitions": 0},
    "fewer than none": {"partitions": -2},
    "no replicas": {"replicas": 0},
    "fewer replicas than none": {"replicas": -2},
    "more replicas than brokers": {"replicas": 2},
    "unknown config": {"configs": config("no.such.config", "1")},
    "bad number": {"configs": config("retention.ms", "soon")},
    "number too small": {"configs": config("retention.ms", "-2")},
    "segment too small": {"configs": config("segment.bytes", "0")},
    "bad policy": {"configs": config("cleanup.policy", "burn")},
    "bad codec": {"configs": config("compression.type", "rar")},
    "null value": {"configs": config("retention.ms", None)},
    "counts and places": {"partitions": 2, "replicas": 1, "assignments": placed([1], [1])},
    "place unknown": {"partitions": -1, "replicas": -1, "assignments": placed([7])},
    "place twice": {"partitions": -1, "replicas": -1, "assignments": placed([1, 1])},
    "place missing": {"partitions": -1, "replicas": -1, "assignments": placed([])},
    "places with a gap": {"partitions": -1, "replicas": -1, "assignments": placed([1], first=1)},
    "min above max": {"configs": config("min.insync.replicas", "0")},
}
BAD_NAMES = ["", ".", "..", "x" * 250, "a b", "ü", "__cluster_metadata"]


@pytest.mark.parametrize("version", CREATE_VERSIONS)
@pytest.mark.parametrize("case", GOOD)
def test_creating(pair: Pair, topic: str, version: int, case: str) -> None:
    request = CreateTopicsRequest(topics=[wanted(topic, **GOOD[case])], validate_only=True)
    pair.ask(ApiKey.CREATE_TOPICS, version, request)
    request.validate_only = False
    pair.ask(ApiKey.CREATE_TOPICS, version, request)
    pair.ask(ApiKey.CREATE_TOPICS, version, request)
    request.validate_only = True
    pair.ask(ApiKey.CREATE_TOPICS, version, request)


@pytest.mark.parametrize("version", CREATE_VERSIONS)
@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_created(pair: Pair, topic: str, version: int, case: str) -> None:
    for validate_only in (True, False):
        request = CreateTopicsRequest(
            topics=[wanted(topic, **BAD[case])], validate_only=validate_only
        )
        pair.ask(ApiKey.CREATE_TOPICS, version, request)


@pytest.mark.parametrize("version", CREATE_VERSIONS)
@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_cannot_be_created(pair: Pair, version: int, name: str) -> None:
    pair.ask(ApiKey.CREATE_TOPICS, version, CreateTopicsRequest(topics=[wanted(name)]))


@pytest.mark.parametrize("version", CREATE_VERSIONS)
def test_several_at_once(pair: Pair, topic: str, version: int) -> None:
    pair.ask(
        ApiKey.CREATE_TOPICS,
        version,
        CreateTopicsRequest(topics=[wanted(f"{topic}-a"), wanted(f"{topic}-b", 0)]),
    )
    twice = CreateTopicsRequest(topics=[wanted(f"{topic}-c"), wanted(f"{topic}-c"), wanted(topic)])
    pair.ask(ApiKey.CREATE_TOPICS, version, twice)
    pair.ask(ApiKey.CREATE_TOPICS, version, CreateTopicsRequest(topics=[wanted(f"{topic}.x")]))
    pair.ask(ApiKey.CREATE_TOPICS, version, CreateTopicsRequest(topics=[wanted(f"{topic}_x")]))
    pair.ask(ApiKey.CREATE_TOPICS, version, CreateTopicsRequest(topics=[]))


def deleting(version: int, *names: str) -> DeleteTopicsRequest:
    if version < 6:
        return DeleteTopicsRequest(topic_names=list(names), timeout_ms=5000)
    topics = [DeleteTopicState(name=name) for name in names]
    return DeleteTopicsRequest(topics=topics, timeout_ms=5000)


@pytest.mark.parametrize("version", DELETE_VERSIONS)
def test_deleting(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)
    pair.ask(ApiKey.DELETE_TOPICS, version, deleting(version, topic, f"{topic}-unknown"))
    pair.ask(ApiKey.DELETE_TOPICS, version, deleting(version, topic))
    pair.ask(ApiKey.DELETE_TOPICS, version, deleting(version))
    pair.ask(ApiKey.DELETE_TOPICS, version, deleting(version, ""))
    pair.ask(ApiKey.DELETE_TOPICS, version, deleting(version, "x" * 250, "a b"))


@pytest.mark.parametrize("version", DELETE_VERSIONS)
def test_deleting_twice_at_once(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)
    pair.ask(ApiKey.DELETE_TOPICS, version, deleting(version, topic, topic))


def test_deleting_by_id(pair: Pair, topic: str) -> None:
    pair.create_topic(topic)

    def by_id(side: Side, name: str | None = None) -> DeleteTopicsRequest:
        state = DeleteTopicState(name=name, topic_id=side.topic_id(topic))
        return DeleteTopicsRequest(topics=[state], timeout_ms=5000)

    pair.ask(ApiKey.DELETE_TOPICS, 6, lambda side: by_id(side, topic))
    pair.ask(ApiKey.DELETE_TOPICS, 6, by_id)
    unknown = [DeleteTopicState(topic_id=UUID(int=12345)), DeleteTopicState()]
    pair.ask(ApiKey.DELETE_TOPICS, 6, DeleteTopicsRequest(topics=unknown, timeout_ms=5000))


def growing(
    name: str, count: int, places: list[list[int]] | None = None, validate_only: bool = False
) -> CreatePartitionsRequest:
    assignments = places and [CreatePartitionsAssignment(broker_ids=place) for place in places]
    topic = CreatePartitionsTopic(name=name, count=count, assignments=assignments)
    return CreatePartitionsRequest(topics=[topic], timeout_ms=5000, validate_only=validate_only)


@pytest.mark.parametrize("version", PARTITIONS_VERSIONS)
def test_growing(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic, 2)
    for request in (
        growing(topic, 3, validate_only=True),
        growing(topic, 3),
        growing(topic, 3),
        growing(topic, 2),
        growing(topic, 0),
        growing(topic, -1),
        growing(topic, 5, [[1], [1]]),
        growing(topic, 7, [[1]]),
        growing(topic, 6, [[9]]),
        growing(topic, 6, [[1, 1]]),
        growing(topic, 6, [[]]),
        growing(f"{topic}-unknown", 6),
        growing("", 6),
        CreatePartitionsRequest(topics=[], timeout_ms=5000),
        CreatePartitionsRequest(
            topics=growing(topic, 8).topics + growing(topic, 9).topics, timeout_ms=5000
        ),
    ):
        pair.ask(ApiKey.CREATE_PARTITIONS, version, request)


def describing(*names: str, **options: Any) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(topics=[TopicRequest(name=n) for n in names], **options)


def test_describing_partitions(pair: Pair, topic: str) -> None:
    first, second = (pair.create_topic(f"{topic}-{name}", 3) for name in "ab")
    for request in (
        describing(first, second),
        describing(second, first),
        describing(first, response_partition_limit=2),
        describing(second, first, response_partition_limit=4),
        describing(first, response_partition_limit=0),
        describing(first, response_partition_limit=-1),
        describing(first, second, cursor=Cursor(topic_name=first, partition_index=1)),
        describing(first, second, cursor=Cursor(topic_name=second, partition_index=2)),
        describing(first, second, cursor=Cursor(topic_name=first, partition_index=9)),
        describing(first, cursor=Cursor(topic_name=second, partition_index=0)),
        describing(first, cursor=Cursor(topic_name=first, partition_index=-1)),
        describing(f"{topic}-unknown", first),
        describing("", "a b"),
        describing(first, first),
    ):
        pair.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, request)
