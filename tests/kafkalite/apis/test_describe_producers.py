"""DescribeProducers: producers of a partition, as any of its replicas knows them."""

from __future__ import annotations

from typing import Any

from kafkalite.replica.topics import NewTopic
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tests.kafkalite.conftest import batch

MANY = 100_000


async def test_every_replica_tells_of_producers(connect: Any) -> None:
    async with test_broker(nodes=3) as b:
        b._running.services.topics.create(NewTopic("t", assignments=[(0, [2, 3])]))
        request = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0])])
        answers = [await (await connect(b, node_id)).ask(request) for node_id in (1, 2, 3)]
        assert [answer.topics[0].partitions[0].error_code for answer in answers] == [6, 0, 0]


async def test_very_many_producers_of_a_partition_do_not_hold_the_loop(
    client: Any, broker: test_broker
) -> None:
    broker.create_topic("t")
    partition = broker._running.services.topics.partition("t", 0)
    partition.append(batch(b"v", producer_id=9, producer_epoch=1, base_sequence=0))
    producers = partition.log.producer_state.producers
    producers.update(dict.fromkeys(range(1000, 1000 + MANY), producers[9]))
    request = DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0])])
    active = (await client.ask(request)).topics[0].partitions[0].active_producers
    assert len(active) == MANY + 1
    assert {(each.producer_id, each.producer_epoch, each.last_sequence) for each in active} == {
        (9, 1, 0)
    }
