"""Each job of the coordinators and of the controller, and each operation on the disk that it makes:
all of them fail while the job runs.

Nothing ends, it is said once, and what lies in the other directory goes on. With a full disk the
job is done once there is room. With EIO the directory is offline, as Kafka's is until a start.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import trio

from kafkalite.control.faults.disk import FaultyFiles
from kafkalite.requests.topic_names import SHARE_STATE_TOPIC
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tests.kafkalite.apis import share_state
from tests.kafkalite.apis.test_push_telemetry import Pusher, shown
from tests.kafkalite.telemetry.pushes import gauge, pushed
from tests.kafkalite.test_failing_disk import is_writable, join
from tests.kafkalite.transactional import TOPIC, Transactional
from tests.kafkalite.until import until

MOST_LINES = 6
MANY = 300
SECONDS = 60
CONFIG: dict[str, Any] = {
    "offsets.topic.num.partitions": 1,
    "transaction.state.log.num.partitions": 1,
    "group.min.session.timeout.ms": 10,
    "share.coordinator.state.topic.num.partitions": 1,
    "share.coordinator.cold.partition.snapshot.interval.ms": 50,
    "share.coordinator.state.topic.prune.interval.ms": 50,
    "kafkalite.metrics.port": 0,
}


class Watched:
    """Notes operations on files under a name while it is on; those in `failing` fail."""

    def __init__(self, files: FaultyFiles, prefix: str) -> None:
        self.is_on = False
        self.made: set[str] = set()
        self.failed: set[str] = set()
        self.failing = ""
        self.error = 0
        self._prefix = prefix
        files.set_check(self._check)

    def _check(self, operation: str, path: Path) -> None:
        if path.suffix == ".txnindex":
            return  # the next flush makes up for it, or says what is wrong
        under = path.parent.name if operation != "rename" else path.name
        if self.is_on and (under.startswith(self._prefix) or path.parent.name == self._prefix):
            self.made.add(operation)
            if operation == self.failing:
                self.failed.add(operation)
                raise OSError(self.error, os.strerror(self.error), str(path))


class World:
    """A broker with two data directories, one client, and what is to be done in time."""

    def __init__(self, broker: test_broker, client: Any) -> None:
        self.broker = broker
        self.client = client
        self.writer = Transactional(client)

    @property
    def services(self) -> Any:
        return self.broker._running.services

    async def member(self) -> None:
        await join(self.client)

    async def offset(self) -> None:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        request = OffsetCommitRequest(
            group_id="group", topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])]
        )
        answer = await self.client.ask(request, 8)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE

    async def identity(self) -> None:
        assert await self.writer.init() is ErrorCode.NONE

    async def transaction(self) -> None:
        await self.identity()
        assert await self.writer.produce(b"a") is ErrorCode.NONE

    async def share_states(self) -> None:
        """A state in a segment of its own. Time stands still: no snapshot is due."""
        await self.broker.asynchronous.clock.freeze()
        topic_id = self.broker.topic_id(TOPIC)
        await share_state.find_coordinator(self.client, topic_id)
        assert (await share_state.initialize(self.client, topic_id)).error_code == ErrorCode.NONE
        written = await share_state.write(self.client, topic_id, (0, 9, 2, 1), start_offset=10)
        assert written.error_code == ErrorCode.NONE
        self.services.topics.get(SHARE_STATE_TOPIC).partitions[0].log.roll()

    def has_pruned_states(self) -> bool:
        """A snapshot was written, and what it superseded is gone."""
        (partition,) = self.services.topics.get(SHARE_STATE_TOPIC).partitions
        return partition.log.log_start_offset > 1 and len(partition.log.segments) == 1

    def has_no_member(self) -> bool:
        group = self.services.group_coordinator.interventions.group("group")
        return group is None or not group.members

    def has_no_offset(self) -> bool:
        return self.services.group_coordinator.interventions.group("group") is None

    def has_no_identity(self) -> bool:
        return not list(self.services.transaction_coordinator.all())

    def has_no_transaction(self) -> bool:
        (found,) = self.services.transaction_coordinator.all()
        return bool(found.state.title == "CompleteAbort")

    def has_marker(self) -> bool:
        log = self.services.topics.get(TOPIC).partitions[0].log
        is_marked: bool = log.last_stable_offset == log.log_end_offset
        return self.has_no_transaction() and is_marked


class ShareMember:
    """A member of a share group, and how many partitions it has."""

    def __init__(self, client: Any, topic: str) -> None:
        self._client = client
        self._topic = topic
        self._epoch = 0
        self.count = 0

    async def beat(self) -> None:
        names = [] if self._epoch else [self._topic]
        request = ShareGroupHeartbeatRequest(
            "queue", "m", self._epoch, subscribed_topic_names=names or None
        )
        answer = await self._client.ask(request)
        assert answer.error_code == ErrorCode.NONE
        self._epoch = answer.member_epoch
        if answer.assignment is not None:
            topics = answer.assignment.topic_partitions
            self.count = sum(len(each.partitions) for each in topics)


class Job(NamedTuple):
    """`prefix` begins the names of the directories whose files fail; `after` is when it is due."""

    prefix: str
    after: str
    set_up: Callable[[World], Awaitable[None]]
    is_done: Callable[[World], bool]


JOBS = {
    "session": Job("__consumer_offsets", "10m", World.member, World.has_no_member),
    "offsets": Job("__consumer_offsets", "9d", World.offset, World.has_no_offset),
    "transaction": Job("__transaction_state", "10m", World.transaction, World.has_no_transaction),
    "markers": Job(TOPIC, "10m", World.transaction, World.has_marker),
    "share states": Job(SHARE_STATE_TOPIC, "10m", World.share_states, World.has_pruned_states),
    "identity": Job("__transaction_state", "9d", World.identity, World.has_no_identity),
}


async def operations_of(job: Job, directory: Path, connect: Any) -> list[str]:
    """The operations that a job makes while all is well."""
    async with test_broker({"log.dirs": str(directory), **CONFIG}) as broker:
        world = World(broker, await connect(broker))
        await prepare(world, job)
        watched = Watched(broker._default.files, job.prefix)
        watched.is_on = True
        await broker.asynchronous.clock.advance(job.after)
        await finished(world, job)
        broker._default.files.set_check(None)
        return sorted(watched.made)


async def finished(world: World, job: Job) -> None:
    """Jump until the job is done: retention in a frozen cluster comes with a jump alone."""
    with trio.fail_after(SECONDS):
        while not job.is_done(world):
            await world.broker.asynchronous.clock.advance("10m")
            await trio.sleep(0.02)


async def prepare(world: World, job: Job) -> None:
    world.broker.create_topic(TOPIC, 1)
    world.broker.create_topic("sound", 4)
    await world.writer.find_coordinators()
    await job.set_up(world)


@pytest.mark.slow
@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize("name", JOBS)
async def test_a_job_outlives_each_of_its_operations(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, connect: Any, name: str, number: int
) -> None:
    job = JOBS[name]
    operations = await operations_of(job, tmp_path / "healthy", connect)
    failed: set[str] = set()
    for operation in operations:
        directories = tmp_path / operation / "a", tmp_path / operation / "b"
        config = {"log.dirs": ",".join(map(str, directories)), **CONFIG}
        caplog.clear()
        async with test_broker(config) as broker:
            world = World(broker, await connect(broker))
            await prepare(world, job)
            watched = Watched(broker._default.files, job.prefix)
            watched.failing, watched.error = operation, number
            await check_failing(world, watched, job, caplog)
            client = await connect(broker)
            assert (await client.ask(ApiVersionsRequest(), 0)).error_code == ErrorCode.NONE
        failed |= watched.failed
    assert "write" in failed


async def check_failing(
    world: World, watched: Watched, job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    watched.is_on = True
    await world.broker.asynchronous.clock.advance(job.after)
    for _ in range(10):
        await world.broker.asynchronous.clock.advance("1s")
        await trio.sleep(0.02)  # what fails is tried again meanwhile
    said = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
    assert bool(said) == bool(watched.failed)
    assert len(said) <= MOST_LINES, said
    manager = world.services.logs.manager
    offline = [each.path for each in manager.directories if each.failure is not None]
    for partition in world.services.topics.get("sound").partitions:
        lies_in = manager.directory_of("sound", partition.index)
        assert is_writable(partition) == (lies_in not in offline)
    watched.is_on = False
    if watched.error == errno.ENOSPC:
        assert offline == []
        await finished(world, job)
    else:
        assert len(offline) == len(watched.failed)


@pytest.mark.slow
async def test_many_share_states_outlive_a_full_disk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, connect: Any
) -> None:
    """They are begun in slices, in a task."""
    config = {"log.dirs": str(tmp_path), **CONFIG, "group.share.initialize.retry.interval.ms": 1}
    async with test_broker(config) as broker:
        broker.create_topic("many", MANY)
        client = await connect(broker)
        await Transactional(client).find_coordinators()
        await share_state.find_coordinator(client, broker.topic_id("many"))
        watched = Watched(broker._default.files, SHARE_STATE_TOPIC)
        watched.is_on, watched.failing, watched.error = True, "write", errno.ENOSPC
        member = ShareMember(client, "many")
        await member.beat()
        await until(lambda: f"no share state for {MANY} partition(s)" in caplog.text)
        said = [each for each in caplog.messages if "share state for" in each]
        assert len(said) == 1
        await member.beat()
        assert member.count == 0
        watched.is_on = False
        with trio.fail_after(SECONDS):
            while member.count < MANY:
                await broker.asynchronous.clock.advance("1s")
                await member.beat()


@pytest.mark.slow
async def test_metrics_are_there_while_no_disk_works(tmp_path: Path, connect: Any) -> None:
    async with test_broker({"log.dirs": str(tmp_path), **CONFIG}) as broker:
        world = World(broker, await connect(broker))
        await prepare(world, JOBS["offsets"])
        watched = Watched(broker._default.files, "")
        watched.is_on, watched.error = True, errno.EIO
        metrics = broker._running.metrics
        assert metrics is not None
        for operation in ("read", "write", "sync", "open", "rename"):
            watched.failing = operation
            text, _ = await metrics._render("text/plain")
            assert b"kafkalite_connections 1.0" in text
        broker._default.files.set_check(None)


@pytest.mark.slow
async def test_clients_push_metrics_while_no_disk_works(tmp_path: Path, connect: Any) -> None:
    config = {"log.dirs": str(tmp_path), **CONFIG, "kafkalite.client.telemetry": "true"}
    async with test_broker(config) as broker:
        pusher = Pusher(await connect(broker))
        await pusher.begin()
        watched = Watched(broker._default.files, "")
        watched.is_on, watched.error = True, errno.EIO
        for number, operation in enumerate(("read", "write", "sync", "open", "rename")):
            watched.failing = operation
            assert await pusher.push(pushed(gauge("m", number))) == ErrorCode.NONE
            assert (await shown(broker))["client_m"][1] == number
            await broker.asynchronous.clock.advance("1s")  # before the next push
        broker._default.files.set_check(None)
