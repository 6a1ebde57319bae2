"""Metadata: nodes, topics, leaders."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio

from kafkalite.cluster.topic_creation import Growth
from kafkalite.control.problems import Problem
from kafkalite.replica.topics import NewTopic
from kafkalite.requests.slices import at_once
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_cluster import DescribeClusterRequest
from kafkalite.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from kafkalite.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from tests.kafkalite.authorized_operations import (
    CLUSTER_OPERATIONS,
    NO_OPERATIONS,
    TOPIC_OPERATIONS,
)
from tests.kafkalite.held_disk import HeldDisk


def ask_for(*names: str | UUID | None, **fields: Any) -> MetadataRequest:
    return MetadataRequest(
        topics=[
            MetadataRequestTopic(name=None, topic_id=name)
            if isinstance(name, UUID)
            else MetadataRequestTopic(name=name)
            for name in names
        ],
        **fields,
    )


def codes(answer: MetadataResponse) -> dict[str | None, int]:
    return {topic.name: topic.error_code for topic in answer.topics}


@pytest.mark.parametrize("version", range(14))
async def test_every_version_tells_what_it_knows(
    broker: test_broker, client: Any, version: int
) -> None:
    broker.create_topic("t", 2)
    answer = await client.ask(ask_for("t"), version)
    host, _, port = broker.bootstrap.rpartition(":")
    (node,) = answer.brokers
    assert (node.node_id, node.host, node.port, node.rack) == (1, host, int(port), None)
    (topic,) = answer.topics
    assert (topic.error_code, topic.name, topic.is_internal) == (0, "t", False)
    for index, partition in enumerate(topic.partitions):
        assert (partition.error_code, partition.partition_index) == (0, index)
        assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (1, [1], [1])
        assert partition.leader_epoch == (0 if version >= 7 else -1)
    if version >= 1:
        assert answer.controller_id == 1
    if version >= 2:
        assert answer.cluster_id == broker.cluster_id
    if version >= 10:
        assert topic.topic_id == broker.topic_id("t")
    assert topic.topic_authorized_operations == NO_OPERATIONS
    assert answer.cluster_authorized_operations == NO_OPERATIONS


async def test_all_topics_and_none(broker: test_broker, client: Any) -> None:
    broker.create_topic("a")
    broker.create_topic("b")
    assert codes(await client.ask(MetadataRequest(topics=[]), 0)) == {"a": 0, "b": 0}
    assert codes(await client.ask(MetadataRequest(topics=[]), 1)) == {}
    for version in (1, 13):
        assert codes(await client.ask(MetadataRequest(topics=None), version)) == {"a": 0, "b": 0}


@pytest.mark.parametrize("version", [0, 3, 4, 13])
async def test_asking_creates_and_the_next_answer_has_it(
    broker: test_broker, client: Any, version: int
) -> None:
    request = ask_for("new", "no good")
    expected = {"new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no good": 17}
    assert codes(await client.ask(request, version)) == expected
    assert codes(await client.ask(request, version)) == expected | {"new": 0}
    topic = broker._running.services.topics.get("new")
    assert topic is not None
    assert len(topic.partitions) == 1


async def test_two_ask_for_a_topic_that_is_being_created(
    tmp_path: Path, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = HeldDisk(monkeypatch)
    async with test_broker({"log.dirs": str(tmp_path / "a")}) as broker, disk:
        clients = [await connect(broker) for _ in range(2)]
        for client in clients:  # their handler is there
            await client.ask(ask_for("other"))
        disk.hold()
        await clients[0].send(ask_for("new"))
        with trio.fail_after(20):
            while not disk.count:  # noqa: ASYNC110 - a thread is waited for
                await trio.sleep(0.01)
        await clients[1].send(ask_for("new"))
        await clients[1].send(ask_for("other"))
        await trio.sleep(0.2)
        disk.let_go()
        for client in clients:
            assert codes(await client.answer()) == {"new": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert codes(await clients[1].answer()) == {"other": ErrorCode.NONE}


async def test_asking_does_not_create_when_client_or_broker_forbid(
    broker: test_broker, client: Any
) -> None:
    quiet = ask_for("new", allow_auto_topic_creation=False)
    for _ in range(2):
        assert codes(await client.ask(quiet)) == {"new": 3}
    broker._running.config.set_dynamic(None, {"auto.create.topics.enable": "false"})
    for _ in range(2):
        assert codes(await client.ask(ask_for("new", "no good"))) == {"new": 3, "no good": 17}


async def test_asking_does_not_create_the_topic_of_the_metadata(
    tmp_path: Path, connect: Any
) -> None:
    """Its first partition would lie where the log of the metadata does."""
    async with test_broker(data_dir=tmp_path) as broker:
        client = await connect(broker)
        for _ in range(2):
            assert codes(await client.ask(ask_for("__cluster_metadata"))) == {
                "__cluster_metadata": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            }
        assert [topic.name for topic in broker._running.services.topics.all()] == []
    async with test_broker(data_dir=tmp_path):
        pass


async def test_a_colliding_name_is_not_created(broker: test_broker, client: Any) -> None:
    broker.create_topic("a.b")
    for _ in range(2):
        assert codes(await client.ask(ask_for("a_b"))) == {"a_b": 3}


async def test_why_a_topic_is_not_created_is_not_said(connect: Any) -> None:
    async with test_broker({"default.replication.factor": "2"}) as broker:
        client = await connect(broker)
        for _ in range(2):
            assert codes(await client.ask(ask_for("new"))) == {"new": 3}


async def test_the_topic_of_the_metadata_is_not_created(tmp_path: Path, connect: Any) -> None:
    """Its partition would be the metadata's own log."""
    name = "__cluster_metadata"
    async with test_broker(data_dir=tmp_path) as broker:
        client = await connect(broker)
        for _ in range(2):
            assert codes(await client.ask(ask_for(name))) == {name: 3}
        with pytest.raises(Problem, match="prohibited"):
            broker.create_topic(name)
        broker.create_topic("t")
    async with test_broker(data_dir=tmp_path) as broker:
        assert list(broker._running.services.topics.by_name) == ["t"]


async def test_internal_topics_are_created_as_kafka_makes_them(connect: Any) -> None:
    async with test_broker() as broker:
        client = await connect(broker)
        assert codes(await client.ask(ask_for("__consumer_offsets"))) == {"__consumer_offsets": 3}
        answer = await client.ask(ask_for("__consumer_offsets"))
        made = broker._running.services.topics.get("__consumer_offsets")
    (topic,) = answer.topics
    assert (len(topic.partitions), topic.is_internal) == (50, True)
    assert made is not None
    assert made.configs == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "104857600",
    }


async def test_by_id(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    unknown = UUID(int=9)
    for version in (12, 13):
        answer = await client.ask(ask_for(broker.topic_id("t"), unknown, "ignored"), version)
        told = {(topic.name, topic.topic_id): topic.error_code for topic in answer.topics}
        assert told == {("t", broker.topic_id("t")): 0, (None, unknown): 100}
    for version in (10, 11):
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name="t", topic_id=broker.topic_id("t"))]
        )
        assert codes(await client.ask(request, version)) == {"t": 42}
        assert codes(await client.ask(ask_for(None), version)) == {"": 42}


async def test_each_topic_is_told_once(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    answer = await client.ask(ask_for("t", "t"))
    assert len(answer.topics) == 1


async def test_operations_on_request(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    for version in (8, 10):
        request = ask_for(
            "t",
            include_cluster_authorized_operations=True,
            include_topic_authorized_operations=True,
        )
        answer = await client.ask(request, version)
        assert answer.cluster_authorized_operations == CLUSTER_OPERATIONS
        assert answer.topics[0].topic_authorized_operations == TOPIC_OPERATIONS
    answer = await client.ask(ask_for("t"))
    assert answer.topics[0].topic_authorized_operations == NO_OPERATIONS


async def test_a_change_is_seen_at_once(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    assert len((await client.ask(ask_for("t"))).topics[0].partitions) == 1
    at_once(broker._running.services.topics.growing_all([Growth("t", 2)]))
    assert len((await client.ask(ask_for("t"))).topics[0].partitions) == 2
    broker.delete_topic("t")
    quiet = ask_for("t", allow_auto_topic_creation=False)
    assert codes(await client.ask(quiet)) == {"t": 3}


async def test_nodes_that_are_down(connect: Any) -> None:
    async with test_broker({"kafkalite.racks": "a,b"}, nodes=3) as b:
        client = await connect(b)
        topics, cluster = b._running.services.topics, b._running.services.cluster
        topics.create(NewTopic("t", assignments=[(0, [2, 3])]))
        topics.create(NewTopic("u", assignments=[(0, [2])]))
        answer = await client.ask(ask_for("t", "u"))
        assert [node.rack for node in answer.brokers] == ["a", "b", "a"]
        cluster.fence(2)
        answer = await client.ask(ask_for("t", "u"))
        assert [node.node_id for node in answer.brokers] == [1, 3]
        (first,), (second,) = (topic.partitions for topic in answer.topics)
        assert (first.error_code, first.leader_id, first.isr_nodes) == (0, 3, [3])
        assert (first.replica_nodes, first.offline_replicas) == ([2, 3], [2])
        assert (second.error_code, second.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
        old = await client.ask(ask_for("t", "u"), 0)
        first = old.topics[0].partitions[0]
        assert first.error_code == ErrorCode.REPLICA_NOT_AVAILABLE
        assert first.replica_nodes == [3]
        described = await client.ask(DescribeClusterRequest(include_fenced_brokers=True))
        assert {node.broker_id: node.is_fenced for node in described.brokers} == {
            1: False,
            2: True,
            3: False,
        }
        described = await client.ask(DescribeClusterRequest())
        assert [node.broker_id for node in described.brokers] == [1, 3]
        page = await client.ask(DescribeTopicPartitionsRequest(topics=[TopicRequest(name="u")]))
        second = page.topics[0].partitions[0]
        assert (second.leader_id, second.eligible_leader_replicas) == (-1, [2])
        at_once(cluster.unfencing(2))
        answer = await client.ask(ask_for("t", "u"))
        assert [topic.partitions[0].leader_id for topic in answer.topics] == [3, 2]


@pytest.mark.parametrize("version", [0, 5, 8, 9, 12])
async def test_topics_that_are_asked_for_in_another_order_are_described_again(
    broker: test_broker, client: Any, version: int
) -> None:
    """The bytes of a topic are kept until the topic or its cluster changes."""
    names = [f"t{number}" for number in range(20)]
    for name in names:
        broker.create_topic(name, 2)
    first = await client.ask(ask_for(*names), version)
    again = await client.ask(ask_for(*reversed(names)), version)
    assert again.topics == first.topics[::-1]
    other = await client.ask(ask_for(*names), 13)
    assert {topic.topic_id.int > 0 for topic in other.topics} == {True}
    broker.delete_topic("t7")
    changed = await client.ask(ask_for(*names, allow_auto_topic_creation=version < 4), version)
    assert codes(changed)["t7"] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    twice = await client.ask(ask_for(*names[:6], *names[:6] * 3), version)
    assert [topic.name for topic in twice.topics] == names[:6]
    many = await client.ask(
        ask_for(*names[:6], "missing", *names[8:], allow_auto_topic_creation=version < 4), version
    )
    assert codes(many)["missing"] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    with_operations = ask_for(*names[:6], *names[8:])
    with_operations.include_topic_authorized_operations = version >= 8
    told = await client.ask(with_operations, version)
    expected = TOPIC_OPERATIONS if version >= 8 else NO_OPERATIONS
    assert {topic.topic_authorized_operations for topic in told.topics} == {expected}
    later = await client.ask(ask_for(*names[:6], *names[8:]), version)
    assert {topic.topic_authorized_operations for topic in later.topics} == {NO_OPERATIONS}
