"""Partitions move between data directories while they are used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio

from kafkalite.replica.replica_moves import ReplicaMoves
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from tests.kafkalite.data_directories import (
    append,
    ask,
    core,
    directory_of,
    found,
    other,
    partition_of,
    running,
    values,
)
from tests.kafkalite.held_disk import HeldDisk
from tests.kafkalite.replica.replicated import ME, OTHER, THIRD, TOPIC_ID, replicated
from tests.kafkalite.until import until

THROTTLE = "replica.alter.log.dirs.io.max.bytes.per.second"


async def described(client: Any) -> dict[tuple[str, bool], tuple[int, int]]:
    """(directory's name, whether the log is on its way there) to (size, offset lag), of `t-0`."""
    answer = await client.ask(DescribeLogDirsRequest(topics=None))
    return {
        (Path(result.log_dir).name, partition.is_future_key): (
            partition.partition_size,
            partition.offset_lag,
        )
        for result in answer.results
        for topic in result.topics
        for partition in topic.partitions
        if topic.name == "t"
    }


@pytest.mark.slow
async def test_a_partition_moves_while_it_is_written(tmp_path: Path, connect: Any) -> None:
    async with running(tmp_path, log_segment_bytes=1 << 20) as broker:
        broker.create_topic("t")
        partition = partition_of(broker, "t")
        written = [b"%d" % i * 100 for i in range(20_000)]
        for value in written[:10_000]:
            append(partition, value)
        target = other(broker, directory_of(broker, "t"))
        client = await connect(broker)
        assert await ask(client, target, "t", 0) == [0]
        for value in written[10_000:]:
            append(partition, value)
            if len(value) % 7 == 0:
                await trio.lowlevel.checkpoint()
        await until(lambda: directory_of(broker, "t") == target)
        assert partition.log.directory == target / "t-0"
        append(partition, b"last")
        assert values(partition) == [*written, b"last"]
        state = core(broker).services.cluster.image.topics["t"].partitions[0]
        assert state.directories == [
            core(broker).services.logs.directory_ids[1 if target.name == "b" else 0]
        ]
        assert await ask(client, target, "t", 0) == [0]  # there it is
        assert core(broker).services.logs.manager.moves == {}
    async with running(tmp_path) as broker:
        assert directory_of(broker, "t") == target
        assert values(partition_of(broker, "t")) == [*written, b"last"]


async def test_a_move_is_seen_cancelled_and_gone_on_with(tmp_path: Path, connect: Any) -> None:
    slow = {THROTTLE.replace(".", "_"): 20_000}
    async with running(tmp_path, **slow) as broker:
        broker.create_topic("t")
        partition = partition_of(broker, "t")
        for i in range(1000):
            append(partition, b"%1000d" % i)
        here = directory_of(broker, "t")
        there = other(broker, here)
        client = await connect(broker)
        assert await ask(client, there, "t", 0) == [0]
        await trio.sleep(0.05)
        shown = await described(client)
        size, lag = shown[there.name, True]
        assert 0 < size < partition.log.size_bytes
        assert lag == 1000 - size * 1000 // partition.log.size_bytes
        assert shown[here.name, False] == (partition.log.size_bytes, 0)
        assert await ask(client, here, "t", 0) == [0]  # stay
        assert list(await described(client)) == [(here.name, False)]
        assert await ask(client, there, "t", 0) == [0]
        await trio.sleep(0.05)
    async with running(tmp_path) as broker:  # as fast as it can
        await until(lambda: directory_of(broker, "t") == there)
        assert len(values(partition_of(broker, "t"))) == 1000
        # The log that was left is deleted afterwards.
        await until(lambda: [path.parent for path in found(tmp_path, "*/t-0")] == [there])
    assert found(tmp_path, "*/*-future") == []


async def test_the_last_act_of_a_move_waits_for_the_disk_in_a_thread(
    tmp_path: Path, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = HeldDisk(monkeypatch)
    async with running(tmp_path) as broker, disk:
        broker.create_topic("t")
        partition = partition_of(broker, "t")
        append(partition, b"before")
        there = other(broker, directory_of(broker, "t"))
        client = await connect(broker)
        disk.hold()
        assert await ask(client, there, "t", 0) == [0]
        await until(lambda: disk.count > 0)
        append(partition, b"meanwhile")
        assert (await client.ask(ApiVersionsRequest(), 0)).error_code == 0
        assert directory_of(broker, "t") != there
        disk.let_go()
        await until(lambda: directory_of(broker, "t") == there)
        assert values(partition) == [b"before", b"meanwhile"]


async def test_a_move_is_cancelled_in_its_last_act(
    tmp_path: Path, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The metadata name the other directory already, and are set right."""
    disk = HeldDisk(monkeypatch)
    async with running(tmp_path) as broker, disk:
        broker.create_topic("t")
        partition = partition_of(broker, "t")
        append(partition, b"before")
        here = directory_of(broker, "t")
        there = other(broker, here)
        client = await connect(broker)
        cluster = core(broker).services.cluster
        writing = cluster.writing

        def held(records: Sequence[object]) -> Any:
            disk.hold()
            return writing(records)

        monkeypatch.setattr(cluster, "writing", held)
        assert await ask(client, there, "t", 0) == [0]
        (move,) = core(broker).services.logs.manager.moves.values()
        await until(lambda: move.is_assigned and disk.count > 0)
        monkeypatch.setattr(cluster, "writing", writing)
        assert await ask(client, here, "t", 0) == [0]  # stay
        disk.let_go()
        assigned = core(broker).services.logs.directory_ids[0 if here.name == "a" else 1]
        image = cluster.image
        await until(lambda: not move.is_assigned)
        await until(lambda: image.topics["t"].partitions[0].directories == [assigned])
        append(partition, b"after")
        assert values(partition) == [b"before", b"after"]
        assert directory_of(broker, "t") == here
    async with running(tmp_path) as broker:
        assert values(partition_of(broker, "t")) == [b"before", b"after"]


async def test_a_replica_that_is_to_come_lies_where_it_was_asked_to(tmp_path: Path) -> None:
    """kafka-reassign-partitions says so before it gives the broker the replica."""
    a, b = tmp_path / "a", tmp_path / "b"
    with replicated(a, b) as world:
        config, nowhere = world.cluster.config, UUID(int=1)
        moves = ReplicaMoves(config, world.cluster, world.topics, world.logs)
        world.create(OTHER, OTHER, THIRD)
        with pytest.raises(KafkaError) as refused:
            moves.request(ME, "t", 0, str(b))
        assert refused.value.code is ErrorCode.REPLICA_NOT_AVAILABLE
        world.change(replicas=[OTHER, ME], isr=[OTHER], directories=[nowhere, nowhere])
        assert world.partition().log.directory == b / "t-0"
        assert world.told == [(TOPIC_ID, 0, world.logs.directory_ids[1])]
