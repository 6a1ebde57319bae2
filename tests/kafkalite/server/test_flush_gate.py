"""With flush.messages, what a request has written is on the disk before it is answered."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.kafkalite.held_disk import HeldDisk

PATIENCE_SECONDS = 20.0
# Long enough for an answer that does not wait.
QUICK_SECONDS = 0.3

COMMIT = OffsetCommitRequest(
    group_id="g",
    topics=[
        OffsetCommitRequestTopic(
            name="t",
            partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=7)],
        )
    ],
)


async def commit_on(disk: HeldDisk, broker: test_broker, client: Any, error: int = 0) -> None:
    """Send a commit whose flush has begun, and waits for the disk."""
    broker.create_topic("t", 1)
    await client.ask(FindCoordinatorRequest(coordinator_keys=["g"]), 4)
    disk.hold()
    disk.error = error
    await client.send(COMMIT, 9)
    with trio.fail_after(PATIENCE_SECONDS):
        while not disk.count:  # noqa: ASYNC110 - a thread is waited for
            await trio.sleep(0.01)


def flushing_broker(tmp_path: Path) -> test_broker:
    return test_broker({"log.dirs": str(tmp_path / "a"), "log.flush.interval.messages": 1})


async def test_a_commit_is_answered_after_its_flush(
    tmp_path: Path, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = HeldDisk(monkeypatch)
    async with flushing_broker(tmp_path) as broker, disk:
        client = await connect(broker)
        await commit_on(disk, broker, client)
        with trio.move_on_after(QUICK_SECONDS) as waited:
            await trio.lowlevel.wait_readable(client.stream.socket)
        assert waited.cancelled_caught
        disk.let_go()
        answer = await client.answer()
        assert answer.topics[0].partitions[0].error_code == ErrorCode.NONE


async def test_a_commit_that_is_not_safe_is_not_answered(
    tmp_path: Path, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = HeldDisk(monkeypatch)
    async with flushing_broker(tmp_path) as broker, disk:
        client = await connect(broker)
        await commit_on(disk, broker, client, errno.EIO)
        disk.let_go()
        with trio.fail_after(PATIENCE_SECONDS):
            assert await client.is_closed()
