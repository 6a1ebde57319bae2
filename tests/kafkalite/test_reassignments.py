"""Elections and reassignments on three nodes, seen by clients, kept over restarts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafkalite.cluster.image import PartitionState
from kafkalite.cluster.reassignment import begin, cancel, catch_up
from kafkalite.replica.topics import NewTopic
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalite.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionDataRequest,
    TopicDataRequest,
)
from kafkalite.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkalite.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from kafkalite.wire.messages.unregister_broker import UnregisterBrokerRequest

PREFERRED, UNCLEAN = 0, 1
ID = UUID(int=1)


@pytest.fixture
async def three() -> AsyncIterator[test_broker]:
    async with test_broker(nodes=3) as running:
        yield running


def state_of(broker: test_broker, index: int = 0, topic: str = "t") -> PartitionState:
    found = broker._running.services.topics.get(topic)
    assert found is not None
    return found.states[index]


def make(broker: test_broker, *replicas: list[int], name: str = "t") -> None:
    broker._running.services.topics.create(NewTopic(name, assignments=list(enumerate(replicas))))


async def elect(
    client: Any, kind: int, *indexes: int, topic: str = "t", version: int = 2
) -> list[tuple[int, int]]:
    asked = [TopicPartitions(topic=topic, partitions=list(indexes))] if indexes else None
    request = ElectLeadersRequest(election_type=kind, topic_partitions=asked)
    answer = await client.ask(request, version)
    return [
        (item.partition_id, item.error_code)
        for result in answer.replica_election_results
        for item in result.partition_result
    ]


@pytest.mark.parametrize("version", range(3))
async def test_the_preferred_replica_leads_again(
    three: test_broker, connect: Any, version: int
) -> None:
    make(three, [2, 1], [1, 2])
    client = await connect(three)
    three._running.services.cluster.fence(2)
    assert await elect(client, PREFERRED, 0, version=version) == [(0, 80)]
    three._running.services.cluster.unfence(2)
    assert state_of(three).leader_id == 1
    epoch = state_of(three).leader_epoch
    assert await elect(client, PREFERRED, 0, 1, 7, version=version) == [(0, 0), (1, 84), (7, 3)]
    assert (state_of(three).leader_id, state_of(three).leader_epoch) == (2, epoch + 1)
    topic = three._running.services.topics.get("t")
    assert topic is not None
    assert topic.partitions[0].leader_id == 2
    assert await elect(client, PREFERRED, version=version) == []


async def test_any_living_replica_may_lead_when_asked_to(three: test_broker, connect: Any) -> None:
    make(three, [2, 3])
    client = await connect(three)
    cluster = three._running.services.cluster
    cluster.fence(2)
    cluster.fence(3)
    assert state_of(three).leader_id == -1
    assert await elect(client, UNCLEAN, 0) == [(0, 83)]
    # 2 was the first to go, and is not in sync when it comes back; 3 has what was acknowledged.
    cluster.write([PartitionChangeRecord(partition_id=0, topic_id=three.topic_id("t"), isr=[3])])
    cluster.unfence(3)
    assert state_of(three).leader_id == 3
    assert await elect(client, UNCLEAN, 0) == [(0, 84)]
    assert await elect(client, 7, 0) == [(0, 42)]


async def reassign(
    client: Any, index: int, replicas: list[int] | None, version: int = 1, **options: Any
) -> tuple[int, str | None]:
    partition = ReassignablePartition(partition_index=index, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name="t", partitions=[partition])], **options
    )
    answer = await client.ask(request, version)
    (told,) = answer.responses[0].partitions
    return told.error_code, told.error_message


async def moving(client: Any, *names: str) -> list[tuple[int, list[int], list[int], list[int]]]:
    topics = [ListPartitionReassignmentsTopics(name=name, partition_indexes=[0]) for name in names]
    answer = await client.ask(ListPartitionReassignmentsRequest(topics=topics or None))
    return [
        (item.partition_index, item.replicas, item.adding_replicas, item.removing_replicas)
        for topic in answer.topics
        for item in topic.partitions
    ]


@pytest.mark.parametrize("version", [0, 1])
async def test_a_partition_moves(three: test_broker, connect: Any, version: int) -> None:
    make(three, [1, 2])
    client = await connect(three)
    assert await reassign(client, 0, [3, 2], version) == (0, None)
    state = state_of(three)
    assert (state.replicas, sorted(state.in_sync_replicas), state.leader_id) == ([3, 2], [2, 3], 3)
    assert state.leader_epoch == 1
    assert await moving(client) == []
    assert await reassign(client, 0, [2], version) == (0, None)
    assert (state.replicas, state.in_sync_replicas, state.leader_id) == ([2], [2], 2)


async def test_a_move_waits_for_a_node_that_is_down(three: test_broker, connect: Any) -> None:
    make(three, [1, 2])
    client = await connect(three)
    three._running.services.cluster.fence(3)
    assert await reassign(client, 0, [3, 2]) == (0, None)
    assert await moving(client) == [(0, [3, 2, 1], [3], [1])]
    assert await moving(client, "t", "nosuch") == [(0, [3, 2, 1], [3], [1])]
    assert state_of(three).leader_id == 1
    three._running.services.cluster.unfence(3)
    assert await moving(client) == []
    assert (state_of(three).replicas, state_of(three).leader_id) == ([3, 2], 3)


async def test_a_move_may_be_cancelled(three: test_broker, connect: Any) -> None:
    make(three, [1, 2])
    client = await connect(three)
    assert await reassign(client, 0, None) == (85, None)
    three._running.services.cluster.fence(3)
    await reassign(client, 0, [3])
    assert await moving(client) == [(0, [3, 1, 2], [3], [1, 2])]
    assert await reassign(client, 0, None) == (0, None)
    assert await moving(client) == []
    assert sorted(state_of(three).replicas) == [1, 2]
    assert state_of(three).leader_id == 1


async def test_a_move_goes_on_after_a_restart(tmp_path: Path, connect: Any) -> None:
    async with test_broker(nodes=3, data_dir=tmp_path) as b:
        make(b, [1, 2])
        b._running.services.cluster.fence(3)
        await reassign(await connect(b), 0, [3, 2])
    async with test_broker(nodes=3, data_dir=tmp_path) as b:
        assert (state_of(b).replicas, state_of(b).leader_id) == ([3, 2], 3)


async def test_what_is_refused(three: test_broker, connect: Any) -> None:
    make(three, [1, 2])
    client = await connect(three)
    start = "The manual partition assignment includes "
    assert await reassign(client, 0, [9]) == (
        39,
        f"{start}broker 9, but no such broker is registered.",
    )
    assert await reassign(client, 0, []) == (39, f"{start}an empty replica list.")
    assert await reassign(client, 0, [1, 1]) == (39, f"{start}the broker 1 more than once.")
    assert (await reassign(client, 7, [1]))[0] == 3
    assert (await reassign(client, 0, [1], allow_replication_factor_change=False))[0] == 38
    assert await reassign(client, 0, [1, 3], allow_replication_factor_change=False) == (0, None)


def moved(**fields: Any) -> PartitionChangeRecord:
    return PartitionChangeRecord(partition_id=0, topic_id=ID, **fields)


def test_the_steps_of_a_move() -> None:
    state = PartitionState([1, 2], [1, 2], 1, 0, 0)
    assert begin(ID, 0, state, [3, 2]) == moved(
        replicas=[3, 2, 1], adding_replicas=[3], removing_replicas=[1]
    )
    going = PartitionState([3, 2, 1], [1, 2], 1, 0, 0, adding_replicas=[3], removing_replicas=[1])
    assert catch_up(ID, 0, going, {1, 2}) is None
    assert catch_up(ID, 0, going, {1, 2, 3}) == moved(
        replicas=[3, 2], isr=[2, 3], adding_replicas=[], removing_replicas=[], leader=3
    )
    # Another aim on the way: what was only being added goes without ever having been there.
    assert begin(ID, 0, going, [1]) == moved(
        replicas=[1, 3, 2], adding_replicas=[], removing_replicas=[3, 2]
    )
    assert cancel(ID, 0, going, {1, 2}) == moved(
        replicas=[2, 1], adding_replicas=[], removing_replicas=[]
    )
    assert cancel(ID, 0, PartitionState([3], [3], 3, 0, 0, adding_replicas=[3]), {3}) is None
    assert catch_up(ID, 0, state, {1, 2}) is None


async def test_a_node_is_forgotten(three: test_broker, connect: Any) -> None:
    make(three, [3, 2])
    client = await connect(three)
    answer = await client.ask(UnregisterBrokerRequest(broker_id=3))
    assert (answer.error_code, answer.error_message) == (0, None)
    assert sorted(three._running.services.cluster.image.brokers) == [1, 2]
    assert state_of(three).leader_id == 2
    answer = await client.ask(UnregisterBrokerRequest(broker_id=3))
    assert answer.error_code == 102


@pytest.mark.parametrize("version", range(3))
async def test_the_quorum(three: test_broker, connect: Any, version: int) -> None:
    client = await connect(three)
    topic = TopicDataRequest(
        topic_name="__cluster_metadata", partitions=[PartitionDataRequest(partition_index=0)]
    )
    answer = await client.ask(DescribeQuorumRequest(topics=[topic]), version)
    (quorum,) = answer.topics[0].partitions
    assert (quorum.error_code, quorum.leader_id, quorum.leader_epoch) == (0, 1, 1)
    assert quorum.high_watermark == three._running.services.cluster.epoch + 1
    assert [voter.replica_id for voter in quorum.current_voters] == [1, 2, 3]
    assert [node.node_id for node in answer.nodes] == ([1, 2, 3] if version == 2 else [])
