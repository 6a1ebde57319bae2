"""Conditions of an append: all in sync, visible after the flush, part of a transaction."""

from __future__ import annotations

from typing import Any

import pytest
import trio
import trio.testing

from kafkalite.replica.partition import Partition
from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch

AFTER_FLUSH = {"kafkalite.visible.after.flush": "true"}
NOW_MS = 1_700_000_000_000


def partition_of(running: broker, topic: str, index: int = 0) -> Partition:
    found = running._running.services.topics.get(topic)
    assert found is not None
    return found.partitions[index]


def records(**fields: Any) -> bytes:
    return build_batch([Record(timestamp=NOW_MS, value=b"v")], **fields)


def produce(*indexes: int, acks: int = -1, timeout_ms: int = 10_000) -> ProduceRequest:
    data = [PartitionProduceData(index=index, records=records()) for index in indexes]
    return ProduceRequest(
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[TopicProduceData(name="t", partition_data=data)],
    )


def answers(response: Any) -> list[tuple[int, int]]:
    (topic,) = response.responses
    return [(each.error_code, each.base_offset) for each in topic.partition_responses]


async def test_acks_all_waits_for_the_flush(
    autojump_clock: trio.testing.MockClock, connect: Any
) -> None:
    async with broker(AFTER_FLUSH) as running:
        running.create_topic("t", 2)
        client = await connect(running)
        assert answers(await client.ask(produce(0, acks=1), 9)) == [(0, 0)]  # the leader has it
        first, second = (partition_of(running, "t", i) for i in range(2))
        assert first.high_watermark == 0

        async def flush_later() -> None:
            await trio.sleep(3)
            first.log.flush()
            await trio.sleep(2)
            second.log.flush()

        began = trio.current_time()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(flush_later)
            assert answers(await client.ask(produce(0, 1), 9)) == [(0, 1), (0, 0)]
        assert trio.current_time() - began == pytest.approx(5, abs=0.5)
        assert (first.high_watermark, second.high_watermark) == (2, 1)


async def test_acks_all_waits_no_longer_than_it_may(
    autojump_clock: trio.testing.MockClock, connect: Any
) -> None:
    async with broker(AFTER_FLUSH) as running:
        running.create_topic("t", 2)
        client = await connect(running)
        began = trio.current_time()
        await client.send(produce(0, 1, timeout_ms=4000), 9)
        await trio.sleep(1)
        partition_of(running, "t", 1).log.flush()
        timed_out = ErrorCode.REQUEST_TIMED_OUT
        assert answers(await client.answer()) == [(timed_out, 0), (0, 0)]
        assert trio.current_time() - began == pytest.approx(4, abs=0.5)
        # It was appended, and is seen when it is flushed.
        partition_of(running, "t", 0).log.flush()
        assert partition_of(running, "t", 0).high_watermark == 1


async def test_a_topic_deleted_while_its_producer_waits(
    autojump_clock: trio.testing.MockClock, connect: Any
) -> None:
    async with broker(AFTER_FLUSH) as running:
        running.create_topic("t")
        client = await connect(running)
        await client.send(produce(0, timeout_ms=60_000), 9)
        await trio.sleep(1)
        running.delete_topic("t")
        assert answers(await client.answer()) == [(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)]
        assert trio.current_time() < 50


async def test_flushed_with_every_message_nobody_waits(connect: Any) -> None:
    async with broker({**AFTER_FLUSH, "log.flush.interval.messages": 1}) as running:
        running.create_topic("t")
        client = await connect(running)
        assert answers(await client.ask(produce(0, timeout_ms=60_000), 9)) == [(0, 0)]
        fetch = FetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            topics=[FetchTopic(topic="t", partitions=[FetchPartition(partition=0)])],
        )
        answer = await client.ask(fetch, 11)
        assert answer.responses[0].partitions[0].high_watermark == 1


async def test_nobody_reads_what_too_few_replicas_have(connect: Any) -> None:
    """With acks=1 it is written, and read once enough are in sync, or fewer are needed."""
    async with broker(nodes=3) as running:
        running.create_topic("t", 1, 3, {"min.insync.replicas": 2})
        client = await connect(running)
        partition = partition_of(running, "t")
        others = [node_id for node_id in (1, 2, 3) if node_id != partition.leader_id]
        for node_id, end in zip(others, (1, 1), strict=True):
            running.stop_node(node_id)
            partition.append(records(), required_acks=1)
            assert partition.high_watermark == end
        assert partition.log.log_end_offset == 2
        running.start_node(others[0])
        assert partition.high_watermark == 2
        running.stop_node(others[0])
        partition.append(records(), required_acks=1)
        assert partition.high_watermark == 2
        fewer = AlterableConfig(name="min.insync.replicas", config_operation=0, value="1")
        topic = AlterConfigsResource(resource_type=2, resource_name="t", configs=[fewer])
        await client.ask(IncrementalAlterConfigsRequest(resources=[topic]), 1)
        assert partition.high_watermark == 3


async def test_nothing_transactional_is_appended_unverified(connect: Any) -> None:
    batch = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
    async with broker() as running:
        running.create_topic("t")
        partition = partition_of(running, "t")
        with pytest.raises(KafkaError) as caught:
            partition.append(records(**batch))
        assert caught.value.code == ErrorCode.INVALID_TXN_STATE
        # Asked not to look, it does not.
        name = "transaction.partition.verification.enable"
        config = AlterableConfig(name=name, config_operation=0, value="false")
        resource = AlterConfigsResource(resource_type=4, resource_name="", configs=[config])
        client = await connect(running)
        answer = await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
        assert answer.responses[0].error_code == 0
        assert partition.append(records(**batch)).base_offset == 0


@pytest.mark.parametrize("leader_only", [True, False])
async def test_a_log_that_is_offline_answers_nothing(*, leader_only: bool) -> None:
    async with broker() as running:
        running.create_topic("t", 1)
        partition = partition_of(running, "t")
        partition.log.offline_reason = "the disk is broken"
        for epoch in (-1, partition.leader_epoch, partition.leader_epoch + 1):
            with pytest.raises(KafkaError) as caught:
                partition.check_leader(partition.leader_id, epoch, leader_only=leader_only)
            assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
        with pytest.raises(KafkaError) as caught:
            partition.check_leader(9, -1, leader_only=leader_only)
        assert caught.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
