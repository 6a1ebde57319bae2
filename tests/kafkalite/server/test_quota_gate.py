"""Quotas over real connections: who used too much is told how long to wait, and is not read meanwhile."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from tests.kafkalite.conftest import Client
from tests.kafkalite.fetching import ALIVE, answers, batch, fetch, produce, values
from tests.kafkalite.quotas_and_credentials import alter

Connect = Callable[..., Awaitable[Client]]


def written(size: int) -> ProduceRequest:
    data = [PartitionProduceData(index=0, records=batch(bytes(size)))]
    topic = TopicProduceData(name="words", partition_data=data)
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])


async def test_producers_wait(connect: Connect) -> None:
    async with broker() as running:
        running.create_topic("words", partitions=1)
        client = await connect(running, client_id="fast")
        assert (await alter(client, {"client-id": "fast"}, producer_byte_rate=10_000))[0] == 0
        told = (await client.ask(written(120_000), 12)).throttle_time_ms
        # 120,000 bytes in a window of 10 seconds, and the second that goes on: 12,000 a second.
        assert 1000 < told < 15_000
        other = await connect(running, client_id="slow")
        assert (await other.ask(written(120_000), 12)).throttle_time_ms == 0
        began = trio.current_time()
        with trio.move_on_after(0.5):
            await client.ask(ALIVE, 3)
            raise AssertionError("it was read")
        assert trio.current_time() - began >= 0.4


async def test_the_wait_ends(connect: Connect) -> None:
    configs = {"quota.window.num": "2", "quota.window.size.seconds": "1"}
    async with broker(configs) as running:
        running.create_topic("words", partitions=1)
        client = await connect(running, client_id="fast")
        await alter(client, {"client-id": "fast"}, producer_byte_rate=10_000)
        told = (await client.ask(written(15_000), 12)).throttle_time_ms
        assert told > 0
        began = trio.current_time()
        assert (await client.ask(ALIVE, 3)).error_code == ErrorCode.NONE
        assert trio.current_time() - began >= told / 1000 - 0.1


async def test_consumers_wait_and_get_nothing(connect: Connect) -> None:
    async with broker() as running:
        running.create_topic("words", partitions=1)
        client = await connect(running, client_id="writer")
        await produce(client, batch(*(bytes(1000) for _ in range(100))))
        await produce(client, batch(*(bytes(1000) for _ in range(100))))
        await alter(client, {"client-id": "reader"}, consumer_byte_rate=5_000)
        reader = await connect(running, client_id="reader")
        first = await reader.ask(fetch({0: 0}, max_bytes=1 << 20), 12)
        assert first.throttle_time_ms > 0
        assert not first.responses
        unlimited = await client.ask(fetch({0: 0}, max_bytes=1 << 20), 12)
        assert len(values(answers(unlimited)[0].records)) > 0


async def test_new_partitions_are_refused_when_the_tokens_are_spent(connect: Connect) -> None:
    configs = {
        "controller.quota.window.num": "2",
        "controller.quota.window.size.seconds": "1",
    }
    async with broker(configs) as running:
        client = await connect(running, client_id="maker")
        await alter(client, {"client-id": "maker"}, controller_mutation_rate=1)

        def create(name: str) -> CreateTopicsRequest:
            topic = CreatableTopic(name=name, num_partitions=4, replication_factor=1)
            return CreateTopicsRequest(topics=[topic], timeout_ms=1000)

        assert (await client.ask(create("a"), 6)).topics[0].error_code == ErrorCode.NONE
        refused = await client.ask(create("b"), 6)
        assert refused.topics[0].error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert refused.throttle_time_ms > 0
        # Older versions know no such error: what they ask for is done, and they wait.
        old = await connect(running, client_id="maker")
        done = await old.ask(create("c"), 5)
        assert done.topics[0].error_code == ErrorCode.NONE
        assert done.throttle_time_ms > 0
