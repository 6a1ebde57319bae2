"""Changes of the metadata wait for the disk, and for each other; all else goes on."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.kafkalite.held_disk import HeldDisk

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


async def until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - a thread is waited for
            await trio.sleep(0.01)


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
            (DeleteTopicsRequest(topics=gone), False),
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
