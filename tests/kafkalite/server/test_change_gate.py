"""Changes of the metadata wait for the disk, and for each other; all else goes on."""

from __future__ import annotations

import errno
import threading
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.log.files import Files
from kafkalite.requests.slices import at_once
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.unregister_broker import UnregisterBrokerRequest
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.kafkalite.held_disk import HeldDisk
from tests.kafkalite.reassignments import make
from tests.kafkalite.until import until

PATIENCE_SECONDS = 20.0
# Long enough for an answer that does not wait.
QUICK_SECONDS = 0.3
_TOPIC_RESOURCE = 2
_APPEND = 2
_SAFE_DOWNGRADE = 2


def appended(value: str) -> IncrementalAlterConfigsRequest:
    """One more value of a topic's cleanup.policy."""
    change = AlterableConfig(name="cleanup.policy", config_operation=_APPEND, value=value)
    resource = AlterConfigsResource(
        resource_type=_TOPIC_RESOURCE, resource_name="t", configs=[change]
    )
    return IncrementalAlterConfigsRequest(resources=[resource])


def policy(broker: test_broker) -> str | None:
    image = broker._running.services.cluster.image
    return image.topic_configs("t").get("cleanup.policy")


async def test_each_decision_is_taken_after_the_change_before(
    tmp_path: Path, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = HeldDisk(monkeypatch)
    async with test_broker({"log.dirs": str(tmp_path / "a")}) as broker, disk:
        broker.create_topic("t", 1, configs={"cleanup.policy": "delete"})
        first, second, other = [await connect(broker) for _ in range(3)]
        for client in (first, second):  # their handler is there
            await client.ask(appended("delete"))
        disk.hold()
        await first.send(appended("compact"))
        await until(lambda: disk.count > 0)
        await second.send(appended("compact"))
        assert (await other.ask(ApiVersionsRequest(), 0)).error_code == ErrorCode.NONE
        assert policy(broker) == "delete"
        disk.let_go()
        for client in (first, second):
            assert (await client.answer()).responses[0].error_code == ErrorCode.NONE
        assert policy(broker) == "delete,compact"


async def test_a_handler_that_does_not_wait_itself_is_waited_for(
    tmp_path: Path, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = HeldDisk(monkeypatch)
    name = "transaction.version"
    update = FeatureUpdateKey(feature=name, max_version_level=1, upgrade_type=_SAFE_DOWNGRADE)
    async with test_broker({"log.dirs": str(tmp_path / "a")}) as broker, disk:
        client = await connect(broker)
        cluster = broker._running.services.cluster
        disk.hold()
        await client.send(UpdateFeaturesRequest(feature_updates=[update]))
        await until(lambda: disk.count > 0)
        with trio.move_on_after(QUICK_SECONDS) as waited:
            await trio.lowlevel.wait_readable(client.stream.socket)
        assert waited.cancelled_caught
        assert cluster.features[name] == 2
        disk.let_go()
        assert (await client.answer()).error_code == ErrorCode.NONE
        assert cluster.features[name] == 1


async def test_topics_come_and_go_without_holding_up_others(
    tmp_path: Path, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = HeldDisk(monkeypatch)
    async with test_broker({"log.dirs": str(tmp_path / "a")}) as broker, disk:
        client, other = await connect(broker), await connect(broker)
        topics = broker._running.services.topics
        new = [CreatableTopic(name="t", num_partitions=2, replication_factor=1)]
        gone = [DeleteTopicState(name="t")]
        for request, there in (
            (CreateTopicsRequest(topics=new), True),
            (DeleteTopicsRequest(topics=gone, timeout_ms=1000), False),
        ):
            disk.hold()
            await client.send(request)
            await until(lambda: disk.count > 0)
            assert (await other.ask(ApiVersionsRequest(), 0)).error_code == ErrorCode.NONE
            assert (topics.get("t") is None) is there
            disk.let_go()
            await client.answer()
            assert (topics.get("t") is not None) is there


async def test_a_change_that_is_not_on_the_disk_is_not_answered(
    tmp_path: Path, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = HeldDisk(monkeypatch)
    async with test_broker({"log.dirs": str(tmp_path / "a")}) as broker, disk:
        broker.create_topic("t", 1, configs={"cleanup.policy": "delete"})
        client = await connect(broker)
        await client.ask(appended("delete"))
        disk.hold()
        disk.error = errno.EIO
        await client.send(appended("compact"))
        await until(lambda: disk.count > 0)
        disk.let_go()
        with trio.fail_after(PATIENCE_SECONDS):
            assert await client.is_closed()
        assert policy(broker) == "delete"


REASSIGNED = ReassignablePartition(partition_index=0, replicas=[3, 2])
UNCLEAN = AlterConfigsResource(
    resource_type=_TOPIC_RESOURCE,
    resource_name="t",
    configs=[AlterableConfig(name="unclean.leader.election.enable", value="true")],
)


class Syncs:
    """The names of the threads in which files are synced."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.threads: list[str] = []
        whole = Files.sync

        def sync(files: Files, descriptor: int) -> None:
            self.threads.append(threading.current_thread().name)
            whole(files, descriptor)

        monkeypatch.setattr(Files, "sync", sync)


@pytest.mark.parametrize(
    ("version", "request_"),
    [
        (0, UnregisterBrokerRequest(broker_id=3)),
        (5, InitProducerIdRequest(transactional_id=None)),
        (
            0,
            AlterPartitionReassignmentsRequest(
                topics=[ReassignableTopic(name="t", partitions=[REASSIGNED])]
            ),
        ),
        (1, IncrementalAlterConfigsRequest(resources=[UNCLEAN])),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_no_change_waits_for_the_disk_in_the_loop(
    tmp_path: Path, connect: Any, monkeypatch: pytest.MonkeyPatch, version: int, request_: Any
) -> None:
    """Nor do the changes that follow from it."""
    syncs = Syncs(monkeypatch)
    async with test_broker({"log.dirs": str(tmp_path)}, nodes=3) as broker:
        make(broker, [1, 2])
        controller = broker._running.controller
        controller.fence(2)
        controller.fence(1)  # there is no leader: 2 is not in sync
        at_once(controller.unfencing(2))
        client = await connect(broker, 2)
        syncs.threads.clear()
        before = controller.epoch
        assert getattr(await client.ask(request_, version), "error_code", 0) == ErrorCode.NONE
        assert controller.epoch > before
        assert syncs.threads
        assert threading.main_thread().name not in syncs.threads


async def test_the_controller_does_not_wait_for_the_disk_in_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    syncs = Syncs(monkeypatch)
    config = {"log.dirs": str(tmp_path), "leader.imbalance.check.interval.seconds": 1}
    async with test_broker(config, nodes=3) as broker:
        make(broker, [1, 2])
        controller = broker._running.controller
        topic = broker._running.services.topics.get("t")
        assert topic is not None
        controller.fence(1)
        at_once(controller.unfencing(1))
        assert topic.states[0].leader_id == 2
        syncs.threads.clear()
        await until(lambda: topic.states[0].leader_id == 1)
        assert syncs.threads
        assert threading.main_thread().name not in syncs.threads


async def test_a_topic_of_a_deleted_one_s_name_waits_for_the_disk_in_threads(
    tmp_path: Path, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoints must not have the deleted one's offsets any more."""
    syncs = Syncs(monkeypatch)
    topics = [CreatableTopic(name="t", num_partitions=1, replication_factor=1)]
    async with test_broker({"log.dirs": str(tmp_path)}) as broker:
        client = await connect(broker)
        create = CreateTopicsRequest(topics=topics, timeout_ms=60_000)
        delete = DeleteTopicsRequest(topic_names=["t"], timeout_ms=60_000)
        await client.ask(create, 7)
        for directory in broker._running.services.logs.manager.directories:
            directory.checkpoint()
        await client.ask(delete, 5)
        syncs.threads.clear()
        assert (await client.ask(create, 7)).topics[0].error_code == ErrorCode.NONE
        assert syncs.threads
        assert threading.main_thread().name not in syncs.threads
