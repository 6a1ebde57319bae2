"""Brokers of a cluster whose disks fail meanwhile: none ends, and a full disk is over when it is.

The jobs are those that only a broker under controllers has; test_supervision.py has the others.
"""

from __future__ import annotations

import errno
import os
from math import inf
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import trio

from kafkalite import background
from kafkalite.coordinators.loading import Loader
from kafkalite.log.files import Files
from kafkalite.quorum_broker import QuorumBroker
from kafkalite.requests.slices import Steps
from kafkalite.supervision import supervised
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from kafkalite.wire.messages.stored.topic_record import TopicRecord
from tests.kafkalite.replication import model_controller
from tests.kafkalite.replication.model_controller import TOPIC_ID, Controller
from tests.kafkalite.test_quorum_broker import ask, cluster, in_sync, produce
from tests.kafkalite.test_supervision import FAILING_DISKS, jobs_under
from tests.kafkalite.until import until

OPERATIONS = ("open", "pwrite", "pread", "sync", "truncate", "rename", "unlink", "make_directory")
IS_OVER = "test_a_full_disk_is_over_when_it_is"
NO_DISK = "touches no disk"
# The test in which the disk fails while a job runs, or why it cannot.
JOBS = {
    "following the metadata": IS_OVER,  # opens, cuts and closes logs, and notes epochs
    "copying from broker": IS_OVER,
    "assignments of directories": IS_OVER,  # of logs that are opened late
    "in-sync replicas": NO_DISK,
    "proposals of partition changes": NO_DISK,
    "producer ids": NO_DISK,
    "requests for topics": NO_DISK,
    "markers": NO_DISK,  # what is led here is written as by any client
    "share states": NO_DISK,  # the same
}
LATE_ID = UUID(int=78)


async def test_each_job_of_a_cluster_s_broker_is_known(tmp_path: Path) -> None:
    async with cluster(tmp_path, 2) as (controller, running):
        await in_sync(controller, running, 2)
        root = trio.lowlevel.current_root_task()
        assert root is not None
        own = {name.rstrip(" 12") for name in jobs_under(root)} - FAILING_DISKS.keys()
    assert (own - JOBS.keys(), JOBS.keys() - own) == (set(), set())
    assert all(each in globals() for each in JOBS.values() if each != NO_DISK)


class Fault:
    """Makes one operation of the disks under `root` fail while it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
        self.failing, self.number, self.count = "", 0, 0
        self.root = root
        for operation in OPERATIONS:
            monkeypatch.setattr(Files, operation, self._watched(operation))

    def _watched(self, operation: str) -> Any:
        whole = vars(Files)[operation]

        def watched(files: Files, where: int | Path, *more: Any) -> Any:
            if operation == self.failing:
                link = f"/proc/self/fd/{where}" if isinstance(where, int) else ""
                path = Path(os.readlink(link)) if link else Path(str(where))
                if path.is_relative_to(self.root):
                    self.count += 1
                    raise OSError(self.number, os.strerror(self.number))
            return whole.__get__(files)(where, *more)

        return watched


async def elect(controller: Controller, index: int, leader: int) -> None:
    async with controller.deciding:
        state = controller.states[index]
        state.leader, state.isr = leader, [1, 2]
        state.leader_epoch += 1
        state.partition_epoch += 1
        await controller.log.write([controller.record(index)])


async def make_topic(controller: Controller, name: str, topic_id: UUID) -> None:
    """One partition, which broker 1 leads."""
    record = PartitionRecord(
        partition_id=0,
        topic_id=topic_id,
        replicas=[1, 2],
        isr=[1, 2],
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
    )
    await controller.log.write([TopicRecord(name=name, topic_id=topic_id), record])


async def is_acknowledged(broker: QuorumBroker, topic_id: UUID, index: int) -> bool:
    """All in-sync replicas have another record."""
    request = produce(index, b"v")
    request.topic_data[0].topic_id = topic_id
    request.timeout_ms = 1000
    answer = await ask(broker, request)
    return bool(answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE)


async def acknowledge(broker: QuorumBroker, topic_id: UUID, index: int) -> None:
    while not await is_acknowledged(broker, topic_id, index):  # noqa: ASYNC110 - no event tells
        await trio.sleep(0.1)


async def all_acknowledge(
    controller: Controller, running: dict[int, QuorumBroker], late_ids: list[UUID]
) -> None:
    with trio.fail_after(20):
        for index, state in enumerate(controller.states):
            await acknowledge(running[state.leader], TOPIC_ID, index)
        for topic_id in late_ids:
            await acknowledge(running[1], topic_id, 0)


@pytest.mark.slow
@pytest.mark.holds_the_loop
@pytest.mark.parametrize("sick", [1, 2])
async def test_a_full_disk_is_over_when_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sick: int
) -> None:
    """Records come, leaders change, and a topic is made, while one of the two can write nothing.
    Both replicas are needed for an acknowledgement."""
    monkeypatch.setattr(background, "_REOPEN_SECONDS", 0.2)
    monkeypatch.setattr(model_controller, "SESSION_SECONDS", inf)
    async with cluster(tmp_path, 2) as (controller, running):
        await in_sync(controller, running, 2)
        await all_acknowledge(controller, running, [])
        fault, late_ids = Fault(monkeypatch, tmp_path / str(sick)), list[UUID]()
        for number, operation in enumerate(OPERATIONS):
            fault.failing, fault.number = operation, errno.ENOSPC
            late_ids.append(UUID(int=100 + number))
            await make_topic(controller, f"late-{number}", late_ids[-1])
            for index, state in enumerate(controller.states):
                await is_acknowledged(running[state.leader], TOPIC_ID, index)
                await elect(controller, index, 3 - state.leader)
                await is_acknowledged(running[state.leader], TOPIC_ID, index)
            fault.failing = ""
            await all_acknowledge(controller, running, late_ids)
        assert fault.count
        assert {each.topic_id for each in running[sick].replicas} >= {TOPIC_ID, *late_ids}


@pytest.mark.slow
@pytest.mark.holds_the_loop
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_broken_disk_ends_no_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operation: str
) -> None:
    """A follower's and a leader's, which has another disk. The other broker leads on."""
    monkeypatch.setattr(model_controller, "SESSION_SECONDS", inf)
    async with cluster(tmp_path, 2, spare=["-sound"]) as (controller, running):
        await in_sync(controller, running, 2)
        fault = Fault(monkeypatch, tmp_path / "1")
        fault.failing, fault.number = operation, errno.EIO
        await make_topic(controller, "late", LATE_ID)
        for index, state in enumerate(controller.states):
            await is_acknowledged(running[state.leader], TOPIC_ID, index)
            await elect(controller, index, 3 - state.leader)
            await is_acknowledged(running[state.leader], TOPIC_ID, index)
        fault.failing = ""
        for broker in running.values():
            assert (await ask(broker, MetadataRequest(topics=[]))).brokers
        for index, state in enumerate(controller.states):
            if state.leader != 2:
                await elect(controller, index, 2)
            replica = running[2].replicas.get(TOPIC_ID, index)
            assert replica is not None
            with trio.fail_after(20):
                while replica.leading is None:  # noqa: ASYNC110 - no event tells
                    await trio.sleep(0.01)


@pytest.mark.holds_the_loop
async def test_the_controllers_hear_of_a_log_that_cannot_be_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its directory is offline, so that others lead what lies there."""
    monkeypatch.setattr(model_controller, "SESSION_SECONDS", inf)
    async with cluster(tmp_path, 2) as (controller, running):
        await in_sync(controller, running, 2)
        fault = Fault(monkeypatch, tmp_path / "1")
        fault.failing, fault.number = "make_directory", errno.EIO
        await make_topic(controller, "late", LATE_ID)
        await until(lambda: controller.brokers[1].offline_directories)
        assert controller.brokers[1].offline_directories == running[1]._logs.directory_ids
        assert controller.brokers[2].offline_directories == []


async def test_a_coordinator_s_log_that_cannot_be_read_holds_up_no_other() -> None:
    loaded: list[str] = []

    def broken() -> Steps[None]:
        yield
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    def sound() -> Steps[None]:
        yield
        loaded.append("sound")

    loader = Loader()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(supervised, "loading of coordinators", loader.run)
        loader.load(broken())
        loader.load(sound())
        await until(lambda: loaded)
        nursery.cancel_scope.cancel()
