"""Nodes of one process that stop, start again, come and go."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.control.problems import Problem
from kafkalite.replica.topics import NewTopic
from kafkalite.requests.slices import at_once
from kafkalite.server.listener import StartError
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.kafkalite.one_partition import produced


async def leader_of(client: Any) -> int:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    answer = await client.ask(request)
    leader: int = answer.topics[0].partitions[0].leader_id
    return leader


async def nodes_seen(client: Any) -> list[int]:
    answer = await client.ask(MetadataRequest(topics=[]))
    return [node.node_id for node in answer.brokers]


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


async def test_a_node_with_many_partitions_goes_and_comes_back_in_steps() -> None:
    async with test_broker(nodes=2) as b:
        b.create_topic("t", partitions=400, replication_factor=2)
        nodes, controller = b._running.nodes, b._running.controller
        for change, alive in ((nodes.stopping(2), {1}), (nodes.starting(2), {1, 2})):
            count = 0
            for wait in change:
                count += 1
                if wait is not None:
                    wait()
            assert count > 10
            assert controller.alive == alive
        with pytest.raises(KeyError):
            at_once(nodes.starting(2))


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
        with pytest.raises(Problem, match="node 2 was not stopped"):
            b.start_node(2)
        assert b.add_node() == 4  # an id is given once
        b.remove_node(3)
        assert await third.is_closed()
        assert await leader_of(first) == 1
        assert await produced(first) == 0
        b.remove_node(1)
        with pytest.raises(Problem, match="node 4 is the only one"):
            b.remove_node(4)
        with pytest.raises(Problem, match="there is no node 1"):
            b.remove_node(1)


async def test_a_node_added_has_its_port_from_the_configuration() -> None:
    async with test_broker() as first:
        taken = int(first.bootstrap.rpartition(":")[2])
        async with test_broker(nodes=1, port=0) as b:
            b.add_node()
            ports = [int(address.rpartition(":")[2]) for address in b.bootstrap.split(",")]
            assert len({*ports, taken}) == 3


async def test_a_node_for_which_there_is_no_port_leaves_everything_as_it_was() -> None:
    async with test_broker(
        nodes=1, config={"advertised.listeners": "PLAINTEXT://127.0.0.1:65535"}
    ) as b:
        for _ in range(2):
            with pytest.raises(StartError, match="there is no port 65536"):
                b.add_node()


async def test_nodes_that_cannot_be_stopped_or_started() -> None:
    async with test_broker(nodes=2) as b:
        with pytest.raises(Problem, match="node 7 is not up"):
            b.stop_node(7)
        with pytest.raises(Problem, match="node 1 was not stopped"):
            b.start_node(1)
        b.stop_node(1)
        with pytest.raises(Problem, match="node 1 is not up"):
            b.stop_node(1)
        b.start_node(1)
