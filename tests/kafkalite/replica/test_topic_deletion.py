"""Topics come and go while the metadata cannot be written: each is told its error, and the rest
goes on."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from kafkalite.replica import topic, topic_plans
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState

FULL = (ErrorCode.KAFKA_STORAGE_ERROR, "__cluster_metadata-0: No space left on device")
DONE = (ErrorCode.NONE, None)


class FullAfter:
    """Lets so many changes of the metadata through; then the disk is full until `count` is
    None."""

    def __init__(self, broker: test_broker, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count: int | None = None
        log = broker._running.controller._log._log
        append = log.append

        def failing(*arguments: Any, **options: Any) -> Any:
            if self.count is not None:
                self.count -= 1
                if self.count < 0:
                    raise log.storage_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
            return append(*arguments, **options)

        monkeypatch.setattr(log, "append", failing)


async def create(client: Any, *names: str) -> dict[str, tuple[int, str | None]]:
    answer = await client.ask(
        CreateTopicsRequest(
            topics=[
                CreatableTopic(name=name, num_partitions=1, replication_factor=1) for name in names
            ],
            timeout_ms=1000,
        )
    )
    return {each.name: (each.error_code, each.error_message) for each in answer.topics}


async def delete(client: Any, *names: str) -> dict[str, tuple[int, str | None]]:
    answer = await client.ask(
        DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names], timeout_ms=1000)
    )
    return {each.name: (each.error_code, each.error_message) for each in answer.responses}


@pytest.fixture(autouse=True)
def one_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (topic, topic_plans):
        monkeypatch.setattr(module, "TOPICS_AT_ONCE", 1)


async def test_topics_that_cannot_be_written_are_told_so(
    broker: test_broker, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullAfter(broker, monkeypatch)
    disk.count = 1
    assert await create(client, "a", "b") == {"a": DONE, "b": FULL}
    disk.count = None
    assert (await create(client, "a", "b"))["b"] == DONE
    assert sorted(broker._running.services.topics.by_name) == ["a", "b"]


async def test_topics_that_cannot_be_deleted_are_still_there(
    broker: test_broker, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullAfter(broker, monkeypatch)
    for name in "ab":
        broker.create_topic(name, 1)
    partitions = {name: broker._running.services.topics.partition(name, 0) for name in ("a", "b")}
    disk.count = 1
    answers = await delete(client, "a", "b")
    (gone,) = (name for name, answer in answers.items() if answer == DONE)
    (kept,) = (name for name, answer in answers.items() if answer == FULL)
    assert partitions[gone].is_deleted
    assert not partitions[kept].is_deleted
    disk.count = None
    assert await delete(client, kept) == {kept: DONE}
    assert partitions[kept].is_deleted
