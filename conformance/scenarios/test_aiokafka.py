"""aiokafka."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRecord, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    MessageSizeTooLargeError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)

from conformance.harness.asyncio_runs import run_in_asyncio
from conformance.harness.broker import Broker
from conformance.scenarios.conftest import CreateTopic

SECONDS = 15


def run(scenario: Coroutine[Any, Any, None]) -> None:
    """aiokafka lives in asyncio; the tests around it in trio."""

    async def bounded() -> None:
        async with asyncio.timeout(4 * SECONDS):
            await scenario

    run_in_asyncio(bounded())


@asynccontextmanager
async def started(client: Any) -> AsyncIterator[Any]:
    await client.start()
    try:
        yield client
    finally:
        await (client.close() if hasattr(client, "close") else client.stop())


def producing(broker: Broker, **options: Any) -> Any:
    return started(AIOKafkaProducer(bootstrap_servers=broker.bootstrap, **options))


def consuming(broker: Broker, *topics: str, **options: Any) -> Any:
    defaults = {"auto_offset_reset": "earliest", "heartbeat_interval_ms": 100}
    return started(
        AIOKafkaConsumer(*topics, bootstrap_servers=broker.bootstrap, **{**defaults, **options})
    )


async def take(consumer: Any, count: int) -> list[ConsumerRecord]:
    async with asyncio.timeout(SECONDS):
        return [await consumer.getone() for _ in range(count)]


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(broker: Broker, create_topic: CreateTopic, codec: str | None) -> None:
    async def scenario() -> None:
        topic = create_topic()
        values = [f"value {i} ".encode() * 20 for i in range(200)]
        async with producing(broker, compression_type=codec, linger_ms=20) as producer:
            for value in values:
                await producer.send(topic, value)
            await producer.flush()
        async with consuming(broker, topic) as consumer:
            assert [r.value for r in await take(consumer, len(values))] == values

    run(scenario())


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_kind_of_acknowledgement(
    broker: Broker, create_topic: CreateTopic, acks: int | str
) -> None:
    async def scenario() -> None:
        topic = create_topic()
        async with producing(broker, acks=acks) as producer:
            for i in range(5):
                answer = await producer.send_and_wait(topic, str(i).encode())
                assert answer is None if acks == 0 else answer.offset == i
        async with consuming(broker, topic) as consumer:
            assert [r.offset for r in await take(consumer, 5)] == [0, 1, 2, 3, 4]

    run(scenario())


def test_everything_of_a_record_comes_back(broker: Broker, create_topic: CreateTopic) -> None:
    async def scenario() -> None:
        topic = create_topic()
        headers = [("a", b"1"), ("a", b"2"), ("empty", b"")]
        async with producing(broker, enable_idempotence=True) as producer:
            await producer.send_and_wait(
                topic, b"v", key=b"k", headers=headers, timestamp_ms=1234567890123
            )
            await producer.send_and_wait(topic, b"no key")
            await producer.send_and_wait(topic, None, key=b"tombstone")
        async with consuming(broker, topic) as consumer:
            full, no_key, tombstone = await take(consumer, 3)
        assert (full.key, full.value, full.timestamp) == (b"k", b"v", 1234567890123)
        assert list(full.headers) == headers
        assert (no_key.key, no_key.value) == (None, b"no key")
        assert (tombstone.key, tombstone.value) == (b"tombstone", None)

    run(scenario())


def test_an_idempotent_producer_keeps_the_order(broker: Broker, create_topic: CreateTopic) -> None:
    async def scenario() -> None:
        topic = create_topic(partitions=3)
        async with producing(broker, enable_idempotence=True, max_batch_size=500) as producer:
            futures = [
                await producer.send(topic, str(i).encode(), partition=i % 3) for i in range(3000)
            ]
            metadata = await asyncio.gather(*futures)
        assert [m.offset for m in metadata] == [i // 3 for i in range(3000)]
        async with consuming(broker, topic) as consumer:
            records = await take(consumer, 3000)
        for partition in range(3):
            values = [int(r.value) for r in records if r.partition == partition]
            assert values == list(range(partition, 3000, 3))

    run(scenario())


def test_positions(broker: Broker, create_topic: CreateTopic) -> None:
    async def scenario() -> None:
        topic = create_topic()
        partition = TopicPartition(topic, 0)
        async with producing(broker) as producer:
            for i in range(10):
                await producer.send_and_wait(topic, b"", timestamp_ms=1_000_000 + i * 1000)
            async with consuming(broker, auto_offset_reset="latest") as consumer:
                consumer.assign([partition])
                assert await consumer.position(partition) == 10
                found = await consumer.offsets_for_times({partition: 1_004_001})
                assert (found[partition].offset, found[partition].timestamp) == (5, 1_005_000)
                beyond = await consumer.offsets_for_times({partition: 2_000_000})
                assert beyond[partition] is None
                assert await consumer.beginning_offsets([partition]) == {partition: 0}
                assert await consumer.end_offsets([partition]) == {partition: 10}
                consumer.seek(partition, 3)
                assert (await take(consumer, 1))[0].offset == 3
                await consumer.seek_to_end(partition)
                await producer.send_and_wait(topic, b"new")
                assert (await take(consumer, 1))[0].offset == 10

    run(scenario())


def test_a_waiting_consumer_hears_at_once(broker: Broker, create_topic: CreateTopic) -> None:
    """A parked fetch is answered by the append, not by its own time running out."""

    async def scenario() -> None:
        topic = create_topic()
        options = {"fetch_max_wait_ms": 10_000, "request_timeout_ms": 20_000}
        async with consuming(broker, topic, **options) as consumer, producing(broker) as producer:
            waiting = asyncio.create_task(consumer.getone())
            await asyncio.sleep(0.5)
            before = asyncio.get_running_loop().time()
            await producer.send_and_wait(topic, b"now")
            assert (await waiting).value == b"now"
            assert asyncio.get_running_loop().time() - before < 2

    run(scenario())


def test_members_share_the_partitions_and_inherit_them(
    broker: Broker, create_topic: CreateTopic, unique: Any
) -> None:
    async def scenario() -> None:
        topic, group = create_topic(partitions=4), unique("group")
        async with consuming(broker, topic, group_id=group) as first:
            await until(lambda: len(first.assignment()) == 4)
            async with consuming(broker, topic, group_id=group) as second:
                await until(lambda: len(first.assignment()) == len(second.assignment()) == 2)
                assert not first.assignment() & second.assignment()
            await until(lambda: len(first.assignment()) == 4)

    run(scenario())


async def until(done: Any) -> None:
    async with asyncio.timeout(SECONDS):
        while not done():  # noqa: ASYNC110 there is no event: the broker is asked
            await asyncio.sleep(0.05)


def test_a_group_goes_on_where_it_committed(
    broker: Broker, create_topic: CreateTopic, unique: Any
) -> None:
    async def scenario() -> None:
        topic, group = create_topic(), unique("group")
        partition = TopicPartition(topic, 0)
        async with producing(broker) as producer:
            for i in range(10):
                await producer.send_and_wait(topic, str(i).encode())
        options = {"group_id": group, "enable_auto_commit": False}
        async with consuming(broker, topic, **options) as consumer:
            await take(consumer, 6)
            await consumer.commit()
            await take(consumer, 2)
        async with consuming(broker, topic, **options) as consumer:
            assert await consumer.committed(partition) == 6
            assert (await take(consumer, 1))[0].offset == 6

    run(scenario())


def test_one_too_large(broker: Broker, create_topic: CreateTopic) -> None:
    async def scenario() -> None:
        topic = create_topic(**{"max.message.bytes": "1000"})
        async with producing(broker, max_request_size=4_000_000) as producer:
            with pytest.raises(MessageSizeTooLargeError):
                await producer.send_and_wait(topic, bytes(10_000))
            assert (await producer.send_and_wait(topic, bytes(100))).offset == 0

    run(scenario())


def test_topics(broker: Broker, topic: str) -> None:
    async def scenario() -> None:
        client = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
        async with started(client):
            configs = {"retention.ms": "12345"}
            await client.create_topics([NewTopic(topic, 2, 1, topic_configs=configs)])
            again = await client.create_topics([NewTopic(topic, 2, 1)])
            assert again.topic_errors[0][1] == TopicAlreadyExistsError.errno
            await client.create_partitions({topic: NewPartitions(total_count=3)})
            async with asyncio.timeout(SECONDS):
                while await partition_count(client, topic) != 3:
                    pass
            (answer,) = await client.describe_configs(
                [ConfigResource(ConfigResourceType.TOPIC, topic)]
            )
            values = {entry[0]: entry[1] for entry in answer.resources[0][4]}
            assert values["retention.ms"] == "12345"
            await client.delete_topics([topic])
            gone = await client.delete_topics([topic])
            assert gone.topic_error_codes[0][1] == UnknownTopicOrPartitionError.errno

    run(scenario())


async def partition_count(client: Any, topic: str) -> int:
    (described,) = await client.describe_topics([topic])
    return len(described["partitions"])
