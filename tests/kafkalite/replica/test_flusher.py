"""An append that flush.messages flushes is answered and seen after it, and others go on."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.replica.partition import Partition
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from tests.kafkalite.held_disk import HeldDisk
from tests.kafkalite.one_partition import produce, produced
from tests.kafkalite.until import until

PATIENCE_SECONDS = 20.0
# Long enough for an answer that does not wait.
QUICK_SECONDS = 0.3


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> HeldDisk:
    return HeldDisk(monkeypatch)


def flushing_broker(tmp_path: Path, **config: Any) -> test_broker:
    return test_broker({"log.dirs": str(tmp_path / "a"), **config})


def flushed_topic(broker: test_broker, count: int = 1) -> Partition:
    """Topic t, of one partition."""
    broker.create_topic("t", 1, configs={"flush.messages": count})
    topic = broker._running.services.topics.get("t")
    assert topic is not None
    return topic.partitions[0]


async def has_answer(client: Any, seconds: float) -> bool:
    with trio.move_on_after(seconds):
        await trio.lowlevel.wait_readable(client.stream.socket)
        return True
    return False


@pytest.mark.parametrize("acks", [1, -1])
async def test_an_append_is_answered_and_seen_after_its_flush(
    tmp_path: Path, connect: Any, disk: HeldDisk, acks: int
) -> None:
    async with flushing_broker(tmp_path) as broker, disk:
        partition = flushed_topic(broker)
        client, other = await connect(broker), await connect(broker)
        disk.hold()
        await client.send(produce(acks), 9)
        await until(lambda: disk.count > 0)
        assert (await other.ask(ApiVersionsRequest(), 0)).error_code == ErrorCode.NONE
        assert not await has_answer(client, QUICK_SECONDS)
        assert (partition.high_watermark, partition.log.log_end_offset) == (0, 1)
        disk.let_go()
        answer = await client.answer()
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        assert (partition.high_watermark, partition.log.recovery_point) == (1, 1)


async def test_records_before_the_flush_are_seen_at_once(
    tmp_path: Path, connect: Any, disk: HeldDisk
) -> None:
    async with flushing_broker(tmp_path) as broker, disk:
        partition = flushed_topic(broker, 3)
        client = await connect(broker)
        for _ in range(2):
            assert await produced(client) == ErrorCode.NONE
        assert (partition.high_watermark, partition.log.recovery_point) == (2, 0)
        disk.hold()
        await client.send(produce(), 9)
        await until(lambda: disk.count > 0)
        assert partition.high_watermark == 2
        disk.let_go()
        await client.answer()
        assert (partition.high_watermark, partition.log.recovery_point) == (3, 3)


async def test_a_connection_without_acks_goes_on_after_the_flush(
    tmp_path: Path, connect: Any, disk: HeldDisk
) -> None:
    async with flushing_broker(tmp_path) as broker, disk:
        flushed_topic(broker)
        client = await connect(broker)
        disk.hold()
        await client.send(produce(0), 9)
        client._asked.clear()
        await client.send(ApiVersionsRequest(), 0)
        assert not await has_answer(client, QUICK_SECONDS)
        disk.let_go()
        assert await has_answer(client, PATIENCE_SECONDS)


async def test_appends_meanwhile_share_the_next_flush(
    tmp_path: Path, connect: Any, disk: HeldDisk
) -> None:
    async with flushing_broker(tmp_path) as broker, disk:
        partition = flushed_topic(broker)
        clients = [await connect(broker) for _ in range(10)]
        await clients[0].ask(produce(), 9)  # the leader epoch is flushed with the first
        disk.hold()
        await clients[0].send(produce(), 9)
        await until(lambda: disk.count > 0)
        for client in clients[1:]:
            await client.send(produce(), 9)
        await until(lambda: partition.log.log_end_offset == 11)
        disk.let_go()
        for client in clients:
            answer = await client.answer()
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        assert partition.log.recovery_point == 11
        assert disk.count == 2


@pytest.mark.parametrize("acks", [1, -1])
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
async def test_an_append_whose_flush_fails_is_refused(
    tmp_path: Path, connect: Any, disk: HeldDisk, acks: int, number: int
) -> None:
    async with flushing_broker(tmp_path, **{"log.flush.scheduler.interval.ms": 20}) as broker, disk:
        partition = flushed_topic(broker)
        client = await connect(broker)
        assert await produced(client, acks) == ErrorCode.NONE
        disk.hold()
        disk.error = number
        await client.send(produce(acks), 9)
        await until(lambda: disk.count > 0)
        disk.let_go()
        answer = await client.answer()
        error_code = answer.responses[0].partition_responses[0].error_code
        assert error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert partition.high_watermark == 1
        disk.error = 0
        if number == errno.EIO:  # the directory is offline, for good
            assert await produced(client, acks) == ErrorCode.KAFKA_STORAGE_ERROR
        else:
            await until(lambda: partition.high_watermark == 2)
            assert await produced(client, acks) == ErrorCode.NONE


async def test_a_topic_deleted_while_its_flush_is_under_way_is_unknown(
    tmp_path: Path, connect: Any, disk: HeldDisk
) -> None:
    async with flushing_broker(tmp_path) as broker, disk:
        partition = flushed_topic(broker)
        client = await connect(broker)
        disk.hold()
        await client.send(produce(), 9)
        await until(lambda: disk.count > 0)
        partition.deleted()
        answer = await client.answer()
        error_code = answer.responses[0].partition_responses[0].error_code
        assert error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        disk.let_go()
