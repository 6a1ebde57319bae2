"""Markers that cannot be written are tried again; deleted topics need none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.coordinators.transaction_coordinator import coordinator as coordinator_module
from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.few_partitions import FEW_PARTITIONS
from tests.kafkalite.hindered_markers import hinder
from tests.kafkalite.transactional import (
    TOPIC,
    Transactional,
    end_offsets,
    read_committed,
)


async def test_markers_that_cannot_be_written_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connect: Any
) -> None:
    monkeypatch.setattr(coordinator_module, "_RETRY_SECONDS", 0.001)
    async with a_broker(FEW_PARTITIONS, data_dir=tmp_path) as running:
        running.create_topic(TOPIC, partitions=2)
        writer = Transactional(await connect(running))
        await writer.find_coordinators()
        assert await writer.init() is ErrorCode.NONE
        with monkeypatch.context() as hindered:
            hinder(hindered, 1, completes=True)
            await writer.write(b"a", commit=True)
            assert await writer.state() == "PrepareCommit"
            assert await writer.produce(b"b") is ErrorCode.CONCURRENT_TRANSACTIONS
            assert await writer.produce(b"b", version=11) is ErrorCode.NOT_ENOUGH_REPLICAS
            assert await writer.init() is ErrorCode.CONCURRENT_TRANSACTIONS
        with trio.fail_after(5):
            while await writer.state() != "CompleteCommit":
                pass
        for partition in (0, 1):
            assert await read_committed(writer.client, partition) == [b"a"]
            assert await end_offsets(writer.client, partition) == (2, 2)
        await writer.write(b"b", commit=True)


async def test_a_topic_deleted_meanwhile_needs_no_marker(
    monkeypatch: pytest.MonkeyPatch, connect: Any
) -> None:
    async with a_broker(FEW_PARTITIONS) as running:
        running.create_topic(TOPIC, partitions=2)
        writer = Transactional(await connect(running))
        await writer.find_coordinators()
        assert await writer.init() is ErrorCode.NONE
        assert await writer.produce(b"a") is ErrorCode.NONE
        running.delete_topic(TOPIC)
        assert await writer.end(commit=True) is ErrorCode.NONE
        assert await writer.state() == "CompleteCommit"
