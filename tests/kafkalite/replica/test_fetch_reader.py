"""Consumers are sent to the replica in their rack (KIP-392), and wait for what there is to come."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from kafkalite.replica.topics import NewTopic
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.record_batch import iterate_batches
from tests.kafkalite.one_partition import produced
from tests.kafkalite.replica.test_partition import partition_of


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
        b._running.services.topics.create(NewTopic("t", assignments=[(0, [1, 2])]))
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


@pytest.mark.parametrize("offset", [-1, 5])
async def test_nobody_is_sent_after_an_offset_that_no_replica_has(
    connect: Any, offset: int
) -> None:
    """Or else the consumer would go back and forth, and never begin elsewhere."""
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    config = {"kafkalite.racks": "a,b", "replica.selector.class": selector}
    async with test_broker(config, nodes=2) as b:
        b._running.services.topics.create(NewTopic("t", assignments=[(0, [1, 2])]))
        leader = await connect(b, 1)
        assert await produced(leader) == 0
        answer = await leader.ask(fetch("b", offset), 12)
        (data,) = answer.responses[0].partitions
        assert (data.error_code, data.preferred_read_replica) == (1, -1)


async def test_without_a_selector_the_leader_serves_everyone(connect: Any) -> None:
    async with test_broker({"kafkalite.racks": "a,b"}, nodes=2) as b:
        b._running.services.topics.create(NewTopic("t", assignments=[(0, [1, 2])]))
        leader = await connect(b, 1)
        assert await produced(leader) == 0
        told, size = await fetched(leader, "b")
        assert (told, size > 0) == (-1, True)


async def test_an_older_segment_is_not_waited_for(
    autojump_clock: trio.testing.MockClock, connect: Any
) -> None:
    """A read ends with its segment, however few bytes that are (LogOffsetMetadata)."""
    async with test_broker() as b:
        b.create_topic("t", 1)
        client = await connect(b)
        assert await produced(client) == 0
        partition_of(b, "t").log.roll()
        assert await produced(client) == 0
        request = fetch("")
        request.max_wait_ms, request.min_bytes = 60_000, 1 << 20
        begun = trio.current_time()
        answer = await client.ask(request, 12)
        (data,) = answer.responses[0].partitions
        assert [batch.base_offset for batch in iterate_batches(bytes(data.records))] == [0]
        assert trio.current_time() - begun < 1
