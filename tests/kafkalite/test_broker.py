"""A broker: several nodes as their clients see them, opened and closed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import trio
from confluent_kafka import Consumer, Producer

from kafkalite.broker import Broker
from kafkalite.config import BrokerConfig
from kafkalite.replica.topics import NewTopic
from kafkalite.server.listener import StartError, bind
from kafkalite.testing import broker as test_broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import encode_request
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.kafkalite.frames import GOOD
from tests.kafkalite.one_partition import produce, produced


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


@pytest.mark.slow
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


def config_of(directory: Path, **properties: str) -> BrokerConfig:
    own = {"log.dirs": str(directory), "listeners": "PLAINTEXT://127.0.0.1:0"}
    return BrokerConfig(own | properties)


async def test_a_data_directory_has_one_broker(tmp_path: Path) -> None:
    with (
        Broker(config_of(tmp_path)),
        pytest.raises(StartError, match=re.escape(str(tmp_path))),
        Broker(config_of(tmp_path)),
    ):
        pass
    with Broker(config_of(tmp_path)) as again:
        assert again.data_directory == tmp_path


async def test_what_was_opened_is_closed_when_opening_fails(tmp_path: Path) -> None:
    """The directory is let go, and so are the ports."""
    with Broker(config_of(tmp_path)) as first:
        port = first.listeners[0].port
    taken = bind("127.0.0.1", port)
    config = config_of(tmp_path, listeners=f"PLAINTEXT://127.0.0.1:{port}")
    with pytest.raises(StartError, match=f"cannot listen on 127.0.0.1:{port}"), Broker(config):
        pass
    taken.close()
    with Broker(config) as broker:
        assert broker.bootstrap == f"127.0.0.1:{port}"


async def test_listeners_are_handed_on(tmp_path: Path, nursery: trio.Nursery) -> None:
    """Clients that connect meanwhile are served by the broker that takes the place."""
    first = Broker(config_of(tmp_path))
    with first:
        handed_on = first.hand_on_listeners([1])
        bootstrap = first.bootstrap
    host, _, port = bootstrap.rpartition(":")
    early = await trio.open_tcp_stream(host, int(port))
    async with early:
        with Broker(config_of(tmp_path), listeners=handed_on) as second:
            assert second.bootstrap == bootstrap
            await nursery.start(second.serve)
            await early.send_all(join(encode_request(ApiKey.API_VERSIONS, 4, 7, "me", GOOD)))
            assert await early.receive_some()
            second.stop()
            await second.stopped.wait()
