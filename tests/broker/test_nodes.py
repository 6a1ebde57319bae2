"""Nodes that go and come back while the others serve on."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from kafkalite.testing import broker as test_broker
from kafkalite.topics import NewTopic
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.records import Record, build_batch


def produce(acks: int = -1) -> ProduceRequest:
    batch = build_batch([Record(value=b"x", timestamp=1)])
    data = PartitionProduceData(index=0, records=memoryview(batch))
    topics = [TopicProduceData(name="t", partition_data=[data])]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=topics)


async def leader_of(client: Any) -> int:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    answer = await client.ask(request)
    leader: int = answer.topics[0].partitions[0].leader_id
    return leader


async def produced(client: Any, acks: int = -1) -> int:
    answer = await client.ask(produce(acks), 9)
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


async def test_a_node_goes_and_another_leads(connect: Any) -> None:
    async with test_broker(nodes=3) as b:
        b._running.topics.create(NewTopic("t", assignments=[(0, [2, 3])]))
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
        topic = b._running.topics.get("t")
        assert topic is not None
        assert topic.partitions[0].high_watermark == 3


async def test_too_few_replicas_in_sync(connect: Any) -> None:
    async with test_broker(nodes=3) as b:
        b._running.topics.create(
            NewTopic("t", assignments=[(0, [1, 2])], configs={"min.insync.replicas": "2"})
        )
        client = await connect(b, 1)
        assert await produced(client) == 0
        b.stop_node(2)
        assert await produced(client) == 19
        assert await produced(client, acks=1) == 0
        b.start_node(2)
        assert await produced(client) == 0


async def test_coordinators_move(connect: Any) -> None:
    async with test_broker(nodes=3) as b:
        client = await connect(b, 1)
        b._running.topics.create_internal("__consumer_offsets")
        for state in b._running.cluster.image.topics["__consumer_offsets"].partitions:
            assert len(state.replicas) == 1
        names = [f"group-{index}" for index in range(20)]
        request = FindCoordinatorRequest(key_type=0, coordinator_keys=names)
        answer = await client.ask(request, 4)
        before = {found.key: found.node_id for found in answer.coordinators}
        assert set(before.values()) == {1, 2, 3}
        b.stop_node(3)
        answer = await client.ask(request, 4)
        told = {found.key: (found.error_code, found.node_id) for found in answer.coordinators}
        for name, node_id in before.items():
            assert told[name] == ((15, -1) if node_id == 3 else (0, node_id))
        b.start_node(3)
        answer = await client.ask(request, 4)
        assert {found.key: found.node_id for found in answer.coordinators} == before


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

    It has its first record before that: while it joins, librdkafka 2.16 loses what it asks of a node that
    goes (OffsetFetch answered NOT_COORDINATOR, Metadata of a node that is no longer listed), on any broker.
    """
    with test_broker({"offsets.topic.replication.factor": 3}, nodes=3) as b:
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


def fetch(rack: str, offset: int = 0) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        topics=[FetchTopic(topic="t", partitions=[partition])],
        rack_id=rack,
    )


async def fetched(client: Any, rack: str, version: int = 12) -> tuple[int, int]:
    """(the replica told to ask instead, bytes of records)"""
    answer = await client.ask(fetch(rack), version)
    (data,) = answer.responses[0].partitions
    assert data.error_code == 0
    return data.preferred_read_replica, len(data.records)


async def test_consumers_are_sent_to_the_replica_in_their_rack(connect: Any) -> None:
    """KIP-392: the leader names another node, which serves the records."""
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    config = {"kafkalite.racks": "a,b,c", "replica.selector.class": selector}
    async with test_broker(config, nodes=3) as b:
        b._running.topics.create(NewTopic("t", assignments=[(0, [1, 2])]))
        leader, follower = await connect(b, 1), await connect(b, 2)
        assert await produced(leader) == 0
        assert await fetched(leader, "b") == (2, 0)
        assert (await fetched(follower, "b"))[0] == -1
        assert (await fetched(follower, "b"))[1] > 0
        for rack, version in (("a", 12), ("c", 12), ("", 12), ("", 10)):
            told, size = await fetched(leader, rack, version)
            assert (told, size > 0) == (-1, True)
        b.stop_node(2)
        told, size = await fetched(leader, "b")
        assert (told, size > 0) == (-1, True)


async def test_without_a_selector_the_leader_serves_everyone(connect: Any) -> None:
    async with test_broker({"kafkalite.racks": "a,b"}, nodes=2) as b:
        b._running.topics.create(NewTopic("t", assignments=[(0, [1, 2])]))
        leader = await connect(b, 1)
        assert await produced(leader) == 0
        told, size = await fetched(leader, "b")
        assert (told, size > 0) == (-1, True)
