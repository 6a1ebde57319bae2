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
