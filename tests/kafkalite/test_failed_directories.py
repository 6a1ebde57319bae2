"""A data directory fails beside others that work: who leads what lies in it, and what clients are
told, as Apache Kafka 4.3.1 showed it."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.log.directory import LogDirectory
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from kafkalite.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.kafkalite.filling import fill
from tests.kafkalite.test_failing_disk import BROKEN_AND_FULL, Fault, core, partition_of, warnings
from tests.kafkalite.until import until

Row = tuple[int, int, list[int], list[int], list[int], list[int]]
# (error, leader, in sync, offline, eligible, last known)
LED: Row = (0, 1, [1], [], [], [])
LOST: Row = (ErrorCode.LEADER_NOT_AVAILABLE, -1, [], [1], [1], [1])


def config_of(root: Path) -> dict[str, Any]:
    return {"log.dirs": f"{root}/a,{root}/b", "log.initial.task.delay.ms": 0}


def directories(broker: test_broker) -> list[LogDirectory]:
    return core(broker).services.logs.manager.directories


def place(broker: test_broker, *names: str) -> None:
    """A topic in each directory, in their order."""
    manager = core(broker).services.logs.manager
    for name, directory in zip(names, manager.directories, strict=True):
        manager.prefer(name, 0, directory)
        broker.create_topic(name, 1)
        assert manager.directory_of(name, 0) == directory.path
        fill(broker, name)


def break_disk(broker: test_broker, number: int) -> None:
    directories(broker)[number].failed(OSError(errno.EIO, os.strerror(errno.EIO)))


async def rows(client: Any, names: Iterable[str]) -> list[Row]:
    """The topics' only partitions, as Metadata and DescribeTopicPartitions tell of them."""
    names = sorted(names)
    request = MetadataRequest(topics=[MetadataRequestTopic(name=each) for each in names])
    metadata = await client.ask(request, 12)
    pages = await client.ask(
        DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=each) for each in names], response_partition_limit=100
        )
    )
    found: list[Row] = []
    for topic, page in zip(metadata.topics, pages.topics, strict=True):
        (one,), (other,) = topic.partitions, page.partitions
        for part in (one, other):
            assert part.leader_id == one.leader_id
            assert part.leader_epoch == one.leader_epoch
            assert part.isr_nodes == one.isr_nodes
            assert part.replica_nodes == [1]
            assert part.offline_replicas == one.offline_replicas
        found.append(
            (
                one.error_code,
                one.leader_id,
                one.isr_nodes,
                one.offline_replicas,
                other.eligible_leader_replicas,
                other.last_known_elr,
            )
        )
    return found


def leader(broker: test_broker, topic: str) -> int:
    return partition_of(broker, topic).leader_id


async def test_nobody_leads_what_lies_in_a_directory_that_failed(
    tmp_path: Path, connect: Any
) -> None:
    async with test_broker(config_of(tmp_path)) as broker:
        place(broker, "one", "two")
        client = await connect(broker)
        assert await rows(client, ("one", "two")) == [LED, LED]
        break_disk(broker, 1)
        await until(lambda: leader(broker, "two") == -1)
        assert await rows(client, ("one", "two")) == [LED, LOST]
        assert partition_of(broker, "two").leader_epoch == 1
        broker.create_topic("three", 1)  # beside the one that works
        assert await rows(client, ["three"]) == [LED]
    async with test_broker(config_of(tmp_path)) as broker:
        client = await connect(broker)
        assert await rows(client, ("one", "two", "three")) == [LED, LED, LED]
        assert partition_of(broker, "two").log.log_end_offset == 10


async def test_a_lost_partition_elects_nobody(tmp_path: Path, connect: Any) -> None:
    async with test_broker(config_of(tmp_path)) as broker:
        place(broker, "one", "two")
        client = await connect(broker)
        break_disk(broker, 1)
        await until(lambda: leader(broker, "two") == -1)
        codes: list[int] = []
        for election_type in (0, 1):
            answer = await client.ask(
                ElectLeadersRequest(
                    election_type=election_type,
                    topic_partitions=[TopicPartitions(topic="two", partitions=[0])],
                    timeout_ms=1000,
                )
            )
            codes.append(answer.replica_election_results[0].partition_result[0].error_code)
        assert codes == [
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
            ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
        ]
        assert await rows(client, ["two"]) == [LOST]


async def test_a_directory_that_does_not_open_has_no_leaders(tmp_path: Path, connect: Any) -> None:
    async with test_broker(config_of(tmp_path)) as broker:
        place(broker, "one", "two")
    (tmp_path / "b").rename(tmp_path / "aside")
    (tmp_path / "b").write_text("no directory")
    async with test_broker(config_of(tmp_path)) as broker:
        # It had resigned when the process ended.
        resigned = (*LOST[:5], [])
        assert await rows(await connect(broker), ("one", "two")) == [LED, resigned]
    (tmp_path / "b").unlink()
    (tmp_path / "aside").rename(tmp_path / "b")
    async with test_broker(config_of(tmp_path)) as broker:
        assert await rows(await connect(broker), ("one", "two")) == [LED, LED]
        assert partition_of(broker, "two").log.log_end_offset == 10


async def test_all_nodes_lose_what_they_share(tmp_path: Path) -> None:
    async with test_broker(config_of(tmp_path), nodes=3) as broker:
        manager = core(broker).services.logs.manager
        manager.prefer("t", 0, manager.directories[1])
        broker.create_topic("t", 1, replication_factor=3)
        break_disk(broker, 1)
        await until(lambda: leader(broker, "t") == -1)
        broker.stop_node(2)
        broker.start_node(2)
        assert leader(broker, "t") == -1
        state = core(broker).services.cluster.image.topics["t"].partitions[0]
        assert (state.in_sync_replicas, sorted(state.eligible_leader_replicas)) == ([], [1, 2, 3])


@BROKEN_AND_FULL
@pytest.mark.parametrize("operation", ["pwrite", "sync"])
async def test_the_loss_of_a_directory_outlives_each_of_its_operations(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    operation: str,
    number: int,
) -> None:
    """The metadata cannot be written meanwhile: after a full disk they are, when there is room."""
    fault = Fault(monkeypatch, tmp_path, operation, number)
    async with test_broker(config_of(tmp_path)) as broker:
        place(broker, "one", "two")
        caplog.clear()
        fault.is_on = True
        break_disk(broker, 1)
        await until(lambda: fault.count > 0)
        await trio.sleep(0.5)
        fault.is_on = False
        assert len(warnings(caplog)) <= 4, warnings(caplog)
        if number == errno.ENOSPC:
            await until(lambda: leader(broker, "two") == -1)
        assert leader(broker, "one") == 1


async def test_the_loss_of_the_metadata_s_directory_is_not_written_down(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with test_broker(config_of(tmp_path)) as broker:
        place(broker, "one", "two")
        caplog.clear()
        break_disk(broker, 0)
        await trio.sleep(0.5)
        assert len(warnings(caplog)) == 1, warnings(caplog)
        assert (leader(broker, "one"), leader(broker, "two")) == (1, 1)
