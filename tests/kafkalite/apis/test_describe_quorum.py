"""DescribeQuorum: leader, epoch and voters of the metadata log."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionDataRequest,
    TopicDataRequest,
)
from kafkalite.wire.messages.unregister_broker import UnregisterBrokerRequest

METADATA = TopicDataRequest(
    topic_name="__cluster_metadata", partitions=[PartitionDataRequest(partition_index=0)]
)


@pytest.mark.parametrize("version", range(3))
async def test_the_quorum(three: test_broker, connect: Any, version: int) -> None:
    client = await connect(three)
    answer = await client.ask(DescribeQuorumRequest(topics=[METADATA]), version)
    (quorum,) = answer.topics[0].partitions
    assert (quorum.error_code, quorum.leader_id, quorum.leader_epoch) == (0, 1, 1)
    assert quorum.high_watermark == three._running.services.cluster.epoch + 1
    assert [voter.replica_id for voter in quorum.current_voters] == [1, 2, 3]
    assert [node.node_id for node in answer.nodes] == ([1, 2, 3] if version == 2 else [])


async def test_a_node_that_is_unregistered_or_away_stays_a_voter(
    three: test_broker, connect: Any
) -> None:
    """Apache Kafka does not take its voters from the registrations."""
    client = await connect(three)
    three.stop_node(3)
    assert (await client.ask(UnregisterBrokerRequest(broker_id=2))).error_code == 0
    answer = await client.ask(DescribeQuorumRequest(topics=[METADATA]), 2)
    (quorum,) = answer.topics[0].partitions
    voters = [(voter.replica_id, voter.log_end_offset) for voter in quorum.current_voters]
    assert voters == [(1, quorum.high_watermark), (2, quorum.high_watermark), (3, -1)]
    three.remove_node(3)
    answer = await client.ask(DescribeQuorumRequest(topics=[METADATA]), 2)
    (quorum,) = answer.topics[0].partitions
    assert [voter.replica_id for voter in quorum.current_voters] == [1, 2]
