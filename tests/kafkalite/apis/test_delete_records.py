"""DeleteRecords: records before an offset go, for good."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
import trio

from kafkalite.apis import delete_records
from kafkalite.faults import errno as errno_
from kafkalite.replica.replicated_partition import ReplicatedPartition
from kafkalite.requests.purgatory import WakeReason, wait_until
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.kafkalite.filling import fill
from tests.kafkalite.replica.replicated import (
    ME,
    OTHER,
    THIRD,
    TOPIC_ID,
    Replicated,
    records,
    replicated,
)


async def delete(
    client: Any, name: str, *offsets: tuple[int, int], version: int = 2
) -> list[tuple[int, int, int]]:
    request = DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=name,
                partitions=[
                    DeleteRecordsPartition(partition_index=index, offset=offset)
                    for index, offset in offsets
                ],
            )
        ],
        timeout_ms=1000,
    )
    answer = await client.ask(request, version)
    (topic,) = answer.topics
    assert topic.name == name
    return [
        (item.partition_index, item.low_watermark, item.error_code) for item in topic.partitions
    ]


@pytest.mark.parametrize("version", range(3))
async def test_records_before_an_offset_are_gone(
    broker: test_broker, client: Any, version: int
) -> None:
    broker.create_topic("t", 2)
    partition = fill(broker, "t", 1)
    assert await delete(client, "t", (1, 4), version=version) == [(1, 4, 0)]
    assert partition.log.log_start_offset == 4
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
        partition.read(3, 100)
    assert await delete(client, "t", (1, 2), version=version) == [(1, 4, 0)]
    assert await delete(client, "t", (1, -1), version=version) == [(1, 10, 0)]
    assert partition.log.log_start_offset == 10


async def test_what_cannot_be_deleted(broker: test_broker, client: Any) -> None:
    broker.create_topic("t")
    broker.create_topic("compacted", configs={"cleanup.policy": "compact"})
    broker.create_topic("both", configs={"cleanup.policy": "compact,delete"})
    broker.create_topic("neither", configs={"cleanup.policy": ""})
    fill(broker, "t")
    assert await delete(client, "t", (0, -2)) == [(0, -1, 1)]
    assert await delete(client, "t", (0, 11), (1, 0), (-1, 0)) == [
        (0, -1, 1),
        (1, -1, 3),
        (-1, -1, 3),
    ]
    assert await delete(client, "nosuch", (0, 0)) == [(0, -1, 3)]
    assert await delete(client, "compacted", (0, 0)) == [(0, -1, 44)]
    assert await delete(client, "both", (0, 0)) == [(0, 0, 0)]
    assert await delete(client, "neither", (0, 1)) == [(0, -1, 1)]
    asked = MetadataRequest(topics=[MetadataRequestTopic(name="__consumer_offsets")])
    await client.ask(asked)
    assert await delete(client, "__consumer_offsets", (0, 0)) == [(0, -1, 17)]


async def test_of_a_partition_named_twice_the_last_offset_counts(
    broker: test_broker, client: Any
) -> None:
    broker.create_topic("t")
    fill(broker, "t")
    assert await delete(client, "t", (0, 5), (1, 0), (0, 3)) == [(0, 3, 0), (1, -1, 3)]


async def test_only_the_leader_deletes(connect: Any) -> None:
    async with test_broker(nodes=2) as b:
        b.create_topic("t")
        fill(b, "t")
        leader = b._running.services.topics.by_name["t"].partitions[0].leader_id
        client = await connect(b, 3 - leader)
        assert await delete(client, "t", (0, 5)) == [(0, -1, 6)]
        client = await connect(b, leader)
        assert await delete(client, "t", (0, 5)) == [(0, 5, 0)]


async def test_deleted_records_stay_deleted(tmp_path: Path, connect: Any) -> None:
    async with test_broker(data_dir=tmp_path) as b:
        b.create_topic("t")
        fill(b, "t")
        assert await delete(await connect(b), "t", (0, 7)) == [(0, 7, 0)]
    async with test_broker(data_dir=tmp_path) as b:
        assert b._running.services.topics.by_name["t"].partitions[0].log.log_start_offset == 7


async def test_deleted_records_stay_deleted_after_a_crash(tmp_path: Path, connect: Any) -> None:
    """The checkpoint that is written every so often is a minute away."""
    async with test_broker(data_dir=tmp_path) as b:
        b.create_topic("t", 2)
        fill(b, "t")
        assert await delete(await connect(b), "t", (0, 7)) == [(0, 7, 0)]
        b._running.is_abandoned = True
    async with test_broker(data_dir=tmp_path) as b:
        assert b._running.services.topics.by_name["t"].partitions[0].log.log_start_offset == 7


@pytest.mark.parametrize(
    ("name", "answer"), [("EIO", (0, -1, ErrorCode.KAFKA_STORAGE_ERROR)), ("ENOSPC", (0, 7, 0))]
)
async def test_a_start_that_cannot_be_kept(connect: Any, name: str, answer: Any) -> None:
    """A full disk does not keep records from being deleted."""
    async with test_broker() as b:
        b.create_topic("t")
        fill(b, "t")
        kept = "*/log-start-offset-checkpoint*"
        await b.asynchronous.fault(disk="write", file=kept, times=None, do=errno_(name))
        assert await delete(await connect(b), "t", (0, 7)) == [answer]


class Alone:
    """A connection whose requests are in a task."""

    async def move_to_task(self) -> None:
        await trio.lowlevel.checkpoint()

    yield_turn = move_to_task

    async def wait_until(self, *of: Any, answer_early: bool) -> WakeReason:
        assert not answer_early
        return await wait_until(*of)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Replicated]:
    """Ten records in each of t, u and v, which this broker leads, and two follow."""
    with replicated(tmp_path) as made:
        for name, topic_id in zip("tuv", (TOPIC_ID, UUID(int=2), UUID(int=3)), strict=True):
            partition = made.create(ME, ME, OTHER, THIRD, name=name, topic_id=topic_id)
            partition.append(records(*[b"v"] * 10))
            for follower in (OTHER, THIRD):
                tell(partition, follower, 0)
        yield made


def tell(partition: ReplicatedPartition, follower: int, log_start_offset: int) -> None:
    """A follower's Fetch, that has all records."""
    assert partition.replica is not None
    leading = partition.replica.leading
    assert leading is not None
    if leading.fetched(follower, 10, log_start_offset, 10 + follower):
        partition.replica.on_change()


async def asked(world: Replicated, *offsets: int, timeout_ms: int = 5000) -> list[tuple[int, int]]:
    """The low watermark and error of t or, with an offset for each, of t, u and v."""
    topics = [
        DeleteRecordsTopic(
            name=name, partitions=[DeleteRecordsPartition(partition_index=0, offset=offset)]
        )
        for name, offset in zip("tuv", offsets, strict=False)
    ]
    request = DeleteRecordsRequest(topics=topics, timeout_ms=timeout_ms)
    context: Any = SimpleNamespace(node_id=ME, connection=Alone())
    services: Any = SimpleNamespace(topics=world.topics, logs=world.logs)
    answer = await delete_records.handle(services, context, request)
    return [
        (each.low_watermark, each.error_code)
        for topic in answer.topics
        for each in topic.partitions
    ]


async def test_an_answer_waits_for_all_living_replicas(
    world: Replicated, autojump_clock: object
) -> None:
    partition, began = world.partition(), trio.current_time()

    async def follow() -> None:
        await trio.sleep(1)
        tell(partition, OTHER, 4)
        await trio.sleep(1)
        tell(partition, THIRD, 4)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow)
        assert await asked(world, 4) == [(4, ErrorCode.NONE)]
    assert trio.current_time() - began == pytest.approx(2)
    assert await asked(world, 3) == [(4, ErrorCode.NONE)]
    assert trio.current_time() - began == pytest.approx(2)


async def test_a_replica_that_does_not_delete_is_waited_for_in_vain(
    world: Replicated, autojump_clock: object
) -> None:
    """The others of the request are told what became of them; deleted it is all the same."""
    began = trio.current_time()
    tell(world.partition("u"), OTHER, 2)
    assert await asked(world, 11, 2, -1) == [
        (-1, ErrorCode.OFFSET_OUT_OF_RANGE),
        (0, ErrorCode.REQUEST_TIMED_OUT),
        (0, ErrorCode.REQUEST_TIMED_OUT),
    ]
    assert trio.current_time() - began == pytest.approx(5)
    assert world.partition("v").log.log_start_offset == 10


async def test_those_that_were_reached_in_time_are_not_told_of_the_others(
    world: Replicated, autojump_clock: object
) -> None:
    for name in "tu":
        for follower in (OTHER, THIRD):
            tell(world.partition(name), follower, 3)
    assert await asked(world, 3, 5) == [(3, ErrorCode.NONE), (3, ErrorCode.REQUEST_TIMED_OUT)]

    async def follow() -> None:
        await trio.sleep(1)
        for follower in (OTHER, THIRD):
            tell(world.partition(), follower, 6)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(follow)
        assert await asked(world, 6, 7) == [(6, ErrorCode.NONE), (3, ErrorCode.REQUEST_TIMED_OUT)]


async def test_who_leads_no_more_says_so(world: Replicated, autojump_clock: object) -> None:
    async with trio.open_nursery() as nursery:

        async def lose() -> None:
            await trio.sleep(1)
            world.change(leader=OTHER, isr=[OTHER, THIRD])

        nursery.start_soon(lose)
        assert await asked(world, 4) == [(-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)]


async def test_a_broken_disk_is_told(world: Replicated, autojump_clock: object) -> None:
    async with trio.open_nursery() as nursery:

        async def fail() -> None:
            await trio.sleep(1)
            log = world.partition().log
            log.storage_error(OSError(errno.EIO, "Input/output error"))
            world.partition().changed()

        nursery.start_soon(fail)
        assert await asked(world, 4) == [(-1, ErrorCode.KAFKA_STORAGE_ERROR)]
