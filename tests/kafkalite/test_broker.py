"""Nodes that go and come back while the others serve on."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from kafkalite.replica.topics import NewTopic
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.kafkalite.one_partition import produce, produced


async def leader_of(client: Any) -> int:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    answer = await client.ask(request)
    leader: int = answer.topics[0].partitions[0].leader_id
    return leader


async def test_a_node_goes_and_another_leads(connect: Any) -> None:
    async with test_broker(nodes=3) as b:
        b._running.services.topics.create(NewTopic("t", assignments=[(0, [2, 3])]))
        first, second, third = [await connect(b, node_id) for node_id in (1, 2, 3)]
        assert [await produced(node) for node in (second, third)] == [0, 6]
        b.stop_node(2)
        assert await second.is_closed()
        with pytest.raises(OSError, match="all attempts to connect"):
            await connect(b, 2)
        assert await leader_of(first) == 3
        assert await produced(third) == 0
        b.start_node(2)
        second = await connect(b, 2)
        assert await leader_of(second) == 3
        assert [await produced(node) for node in (second, third)] == [6, 0]
        topic = b._running.services.topics.get("t")
        assert topic is not None
        assert topic.partitions[0].high_watermark == 3


async def test_too_few_replicas_in_sync(connect: Any) -> None:
    async with test_broker(nodes=3) as b:
        b._running.services.topics.create(
            NewTopic("t", assignments=[(0, [1, 2])], configs={"min.insync.replicas": "2"})
        )
        client = await connect(b, 1)
        assert await produced(client) == 0
        b.stop_node(2)
        assert await produced(client) == 19
        assert await produced(client, acks=1) == 0
        b.start_node(2)
        assert await produced(client) == 0


@pytest.mark.parametrize(("nodes", "replicas"), [(1, 1), (2, 2), (3, 3), (5, 3)])
async def test_internal_topics_survive_the_loss_of_a_node(nodes: int, replicas: int) -> None:
    """Kafka's three replicas where there are three nodes, else one on each node."""
    async with test_broker(nodes=nodes) as b:
        services = b._running.services
        for name in ("__consumer_offsets", "__transaction_state"):
            services.topics.create_internal(name)
            for state in services.cluster.image.topics[name].partitions:
                assert len(state.replicas) == replicas
        if nodes > 1:
            b.stop_node(2)
            for state in services.cluster.image.topics["__transaction_state"].partitions:
                assert state.leader_id in set(range(1, nodes + 1)) - {2}


async def nodes_seen(client: Any) -> list[int]:
    answer = await client.ask(MetadataRequest(topics=[]))
    return [node.node_id for node in answer.brokers]


async def test_nodes_come_and_go_for_good(connect: Any) -> None:
    async with test_broker(nodes=2) as b:
        b._running.services.topics.create(NewTopic("t", assignments=[(0, [2, 1])]))
        first = await connect(b, 1)
        assert b.add_node() == 3
        assert await nodes_seen(first) == [1, 2, 3]
        assert len(b.bootstrap.split(",")) == 3
        third = await connect(b, 3)
        assert await nodes_seen(third) == [1, 2, 3]
        # It takes over a partition, and then the node that had it goes.
        moves = [ReassignablePartition(partition_index=0, replicas=[3, 1])]
        topics = [ReassignableTopic(name="t", partitions=moves)]
        answer = await first.ask(AlterPartitionReassignmentsRequest(topics=topics))
        assert answer.responses[0].partitions[0].error_code == 0
        assert await leader_of(first) == 3
        assert await produced(third) == 0
        b.remove_node(2)
        assert await nodes_seen(first) == [1, 3]
        with pytest.raises(KeyError):
            b.start_node(2)
        assert b.add_node() == 4  # an id is given once
        b.remove_node(3)
        assert await third.is_closed()
        assert await leader_of(first) == 1
        assert await produced(first) == 0
        b.remove_node(1)
        with pytest.raises(ValueError, match="node 4 is the only one"):
            b.remove_node(4)
        with pytest.raises(KeyError):
            b.remove_node(1)


async def test_a_node_added_has_its_port_from_the_configuration() -> None:
    async with test_broker() as first:
        taken = int(first.bootstrap.rpartition(":")[2])
        async with test_broker(nodes=1, port=0) as b:
            b.add_node()
            ports = [int(address.rpartition(":")[2]) for address in b.bootstrap.split(",")]
            assert len({*ports, taken}) == 3


async def test_who_leads_instead_is_told_with_its_address(connect: Any) -> None:
    """KIP-951, in Produce since version 10, in Fetch since version 16."""
    async with test_broker(nodes=3) as b:
        b._running.services.topics.create(NewTopic("t", assignments=[(0, [2, 3])]))
        b.stop_node(2)
        b.start_node(2)
        client = await connect(b, 1)
        address = b.bootstrap.split(",")[2]
        for answer in (
            await client.ask(produce(), 10),
            await client.ask(fetch_by_id(b.topic_id("t")), 16),
        ):
            (topic,) = answer.responses
            (data,) = getattr(topic, "partition_responses", None) or topic.partitions
            assert data.error_code == 6
            assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (3, 1)
            (node,) = answer.node_endpoints
            assert (node.node_id, f"{node.host}:{node.port}") == (3, address)


def fetch_by_id(topic_id: Any) -> FetchRequest:
    partition = FetchPartition(partition=0, partition_max_bytes=1000)
    topics = [FetchTopic(topic_id=topic_id, partitions=[partition])]
    return FetchRequest(max_wait_ms=0, topics=topics)


async def test_nodes_that_cannot_be_stopped_or_started() -> None:
    async with test_broker(nodes=2) as b:
        with pytest.raises(KeyError):
            b.stop_node(7)
        with pytest.raises(KeyError):
            b.start_node(1)
        b.stop_node(1)
        with pytest.raises(KeyError):
            b.stop_node(1)
        b.start_node(1)


def test_an_ordinary_client_goes_on() -> None:
    """librdkafka produces and consumes while every node is away once.

    It has its first record before that: while it joins, librdkafka 2.16 loses what it asks of a
    node that goes (OffsetFetch answered NOT_COORDINATOR, Metadata of a node that is no longer
    listed), on any broker.
    """
    with test_broker(nodes=3) as b:
        b.create_topic("t", 1, 3)
        settings = {"bootstrap.servers": b.bootstrap}
        producer = Producer({**settings, "enable.idempotence": True})
        consumer = Consumer({**settings, "group.id": "g", "auto.offset.reset": "earliest"})
        consumer.subscribe(["t"])
        seen: list[bytes] = []

        def consume(count: int) -> None:
            while len(seen) < count:
                message = consumer.poll(20)
                assert message is not None
                if message.error() is None:
                    seen.append(message.value() or b"")

        producer.produce("t", b"first")
        consume(1)
        for node_id in (1, 2, 3):
            b.stop_node(node_id)
            for index in range(10):
                producer.produce("t", f"{node_id}-{index}".encode())
            assert producer.flush(20) == 0
            b.start_node(node_id)
        consume(31)
        consumer.close()
    expected = [f"{node_id}-{index}".encode() for node_id in (1, 2, 3) for index in range(10)]
    expected.append(b"first")
    assert sorted(seen) == sorted(expected)
