"""OffsetForLeaderEpoch: where an epoch of the leader ended."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.replica.topics import NewTopic
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)


@pytest.mark.parametrize("version", [2, 3, 4])
async def test_where_an_epoch_ended(client, timed_topic: str, version: int) -> None:
    async def end(epoch: int, name: str = "words", current: int = -1) -> tuple[int, int, int]:
        asked = OffsetForLeaderPartition(
            partition=0, leader_epoch=epoch, current_leader_epoch=current
        )
        topics = [OffsetForLeaderTopic(topic=name, partitions=[asked])]
        response = await client.ask(OffsetForLeaderEpochRequest(topics=topics), version)
        (answer,) = response.topics[0].partitions
        return answer.error_code, answer.leader_epoch, answer.end_offset

    assert await end(0) == (0, 0, 6)
    assert await end(1) == (0, -1, -1)
    assert await end(-1) == (0, -1, -1)
    assert await end(-2) == (0, -2, 0)
    assert await end(0, current=1) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
    assert await end(0, current=-2) == (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)
    assert await end(0, name="nowhere") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)


async def test_a_node_without_a_replica_knows_no_epoch(connect: Any) -> None:
    """It says who leads instead, whatever epoch was asked for; a follower knows its own."""
    async with test_broker(nodes=3) as b:
        b._running.services.topics.create(NewTopic("t", assignments=[(0, [2, 3])]))
        nodes = [await connect(b, node_id) for node_id in (1, 2, 3)]
        codes: dict[int, list[int]] = {}
        for epoch in (0, 7):
            asked = OffsetForLeaderPartition(
                partition=0, current_leader_epoch=epoch, leader_epoch=0
            )
            topic = OffsetForLeaderTopic(topic="t", partitions=[asked])
            request = OffsetForLeaderEpochRequest(topics=[topic])
            answers = [await node.ask(request) for node in nodes]
            codes[epoch] = [answer.topics[0].partitions[0].error_code for answer in answers]
        assert codes == {0: [6, 0, 6], 7: [6, 75, 75]}


async def test_very_many_partitions_are_answered_in_slices(
    broker: test_broker, client: Any
) -> None:
    broker.create_topic("wide", partitions=20)
    asked = [
        OffsetForLeaderPartition(partition=index % 21, leader_epoch=0) for index in range(1200)
    ]
    topics = [OffsetForLeaderTopic(topic="wide", partitions=asked)]
    response = await client.ask(OffsetForLeaderEpochRequest(topics=topics), 4)
    answers = response.topics[0].partitions
    assert [each.partition for each in answers] == [index % 21 for index in range(1200)]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [each.error_code for each in answers] == [
        unknown if index % 21 == 20 else 0 for index in range(1200)
    ]
