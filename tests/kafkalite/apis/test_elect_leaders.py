"""ElectLeaders: the preferred replica, or any living one."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.requests.slices import at_once
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from tests.kafkalite.reassignments import make, state_of

PREFERRED, UNCLEAN = 0, 1


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
    at_once(three._running.services.cluster.unfencing(2))
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
    at_once(cluster.unfencing(3))
    assert state_of(three).leader_id == 3
    assert await elect(client, UNCLEAN, 0) == [(0, 84)]
    assert await elect(client, 7, 0) == [(0, 42)]
