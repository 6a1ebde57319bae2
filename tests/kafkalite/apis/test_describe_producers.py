"""DescribeProducers: producers of a partition, as any of its replicas knows them."""

from __future__ import annotations

from typing import Any

from kafkalite.replica.topics import NewTopic
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest


async def test_every_replica_tells_of_producers(connect: Any) -> None:
    async with test_broker(nodes=3) as b:
        b._running.services.topics.create(NewTopic("t", assignments=[(0, [2, 3])]))
        request = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0])])
        answers = [await (await connect(b, node_id)).ask(request) for node_id in (1, 2, 3)]
        assert [answer.topics[0].partitions[0].error_code for answer in answers] == [6, 0, 0]
