"""Endings of transactions that fail are tried again, and keep no other waiting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.coordinators.transaction_coordinator import endings
from kafkalite.coordinators.transaction_coordinator.markers import Ending, MarkerWriter
from kafkalite.coordinators.transaction_coordinator.transaction import TopicPartition
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


async def ended(writer: Transactional) -> None:
    with trio.fail_after(5):
        while await writer.state() != "CompleteCommit":  # noqa: ASYNC110 - it is asked
            await trio.sleep(0.01)


async def test_markers_that_cannot_be_written_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, connect: Any
) -> None:
    monkeypatch.setattr(endings, "_RETRY_SECONDS", 0.02)
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
        await ended(writer)
        for partition in (0, 1):
            assert await read_committed(writer.client, partition) == [b"a"]
            assert await end_offsets(writer.client, partition) == (2, 2)
        await writer.write(b"b", commit=True)


async def test_an_ending_that_fails_keeps_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch, connect: Any
) -> None:
    """One marker runs into a fault of ours: its own request fails, and its transaction waits."""
    monkeypatch.setattr(endings, "_RETRY_SECONDS", 0.02)
    is_ended = MarkerWriter._is_ended

    def fails(self: MarkerWriter, ending: Ending, where: TopicPartition) -> bool:
        if ending.transaction.transactional_id == "bad":
            raise RuntimeError("planted")
        hinders = len(tried) < 2
        tried.append(where)
        return not hinders and is_ended(self, ending, where)

    tried: list[TopicPartition] = []
    async with a_broker(FEW_PARTITIONS) as running:
        running.create_topic(TOPIC, partitions=2)
        bad = Transactional(await connect(running), "bad")
        good = Transactional(await connect(running), "good")
        for writer in (bad, good):
            await writer.find_coordinators()
            assert await writer.init() is ErrorCode.NONE
        with monkeypatch.context() as planted:
            planted.setattr(MarkerWriter, "_is_ended", fails)
            with pytest.raises(AssertionError, match="closed"):
                await bad.write(b"a", commit=True)
            await good.write(b"b", commit=True)
            await ended(good)
        bad.client = await connect(running)
        await ended(bad)
