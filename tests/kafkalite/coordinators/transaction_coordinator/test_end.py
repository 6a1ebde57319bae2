"""A crash at any step of a transaction's end is finished at the next start."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.coordinators.transaction_coordinator import endings
from kafkalite.requests.slices import at_once
from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.few_partitions import FEW_PARTITIONS
from tests.kafkalite.hindered_markers import hinder
from tests.kafkalite.transactional import (
    TOPIC,
    Transactional,
    committed_offset,
    end_offsets,
    read_committed,
)

ALL_MARKERS = 3  # two partitions of the topic, and one of the offsets


@pytest.mark.slow
@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize(
    ("marker_count", "completes"),
    [(0, True), (1, True), (2, True), (ALL_MARKERS, False), (ALL_MARKERS, True)],
    ids=["prepared", "one marker", "two markers", "all markers", "complete"],
)
async def test_a_crash_while_a_transaction_ends(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    connect: Any,
    marker_count: int,
    completes: bool,
    commit: bool,
) -> None:
    async with a_broker(FEW_PARTITIONS, data_dir=tmp_path / "data") as running:
        running.create_topic(TOPIC, partitions=2)
        writer = Transactional(await connect(running))
        await writer.find_coordinators()
        assert await writer.init() is ErrorCode.NONE
        await writer.write(b"before", commit=True, offset=1)
        with monkeypatch.context() as hindered:
            hinder(hindered, marker_count, completes=completes)
            await writer.write(b"last", commit=commit, offset=2)
            # A killed process leaves the files as they are at this moment.
            shutil.copytree(tmp_path / "data", tmp_path / "left")
    async with a_broker(FEW_PARTITIONS, data_dir=tmp_path / "left") as running:
        client = await connect(running)
        writer.client = client
        assert await writer.state() == ("CompleteCommit" if commit else "CompleteAbort")
        for partition in (0, 1):
            assert await read_committed(client, partition) == [b"before", *[b"last"] * commit]
            high_watermark, last_stable_offset = await end_offsets(client, partition)
            assert high_watermark == last_stable_offset
        assert await committed_offset(client, require_stable=True) == (2 if commit else 1)
        # The producer never heard the answer, and goes on.
        writer.epoch -= 1
        assert await writer.end(commit=commit) is ErrorCode.NONE
        await writer.write(b"after", commit=True)
        assert (await read_committed(client))[-1] == b"after"


async def test_an_open_transaction_goes_on_after_a_crash(tmp_path: Path, connect: Any) -> None:
    async with a_broker(FEW_PARTITIONS, data_dir=tmp_path / "data") as running:
        running.create_topic(TOPIC, partitions=2)
        writer = Transactional(await connect(running))
        await writer.find_coordinators()
        assert await writer.init() is ErrorCode.NONE
        assert await writer.produce(b"a") is ErrorCode.NONE
        assert await writer.commit_offset(5) is ErrorCode.NONE
        shutil.copytree(tmp_path / "data", tmp_path / "left")
    async with a_broker(FEW_PARTITIONS, data_dir=tmp_path / "left") as running:
        writer.client = client = await connect(running)
        assert await writer.state() == "Ongoing"
        assert await end_offsets(client) == (1, 0)
        stable = await committed_offset(client, require_stable=True)
        assert stable is ErrorCode.UNSTABLE_OFFSET_COMMIT
        assert await writer.produce(b"b") is ErrorCode.NONE
        assert await writer.end(commit=True) is ErrorCode.NONE
        assert await read_committed(client) == [b"a", b"b"]
        assert await committed_offset(client, require_stable=True) == 5


async def test_a_produce_waits_until_the_last_transaction_is_complete(
    autojump_clock: object, monkeypatch: pytest.MonkeyPatch, connect: Any
) -> None:
    """For 100 ms at most, and nobody else waits meanwhile."""
    monkeypatch.setattr(endings, "_RETRY_SECONDS", 1000)
    async with a_broker(FEW_PARTITIONS) as running, trio.open_nursery() as nursery:
        running.create_topic(TOPIC, partitions=2)
        writer = Transactional(await connect(running))
        await writer.find_coordinators()
        assert await writer.init() is ErrorCode.NONE
        other = Transactional(await connect(running), "other")
        assert await other.init() is ErrorCode.NONE
        with monkeypatch.context() as hindered:
            hinder(hindered, 1, completes=True)
            await writer.write(b"a", commit=True)
            for version, code in (
                (12, ErrorCode.CONCURRENT_TRANSACTIONS),
                (11, ErrorCode.NOT_ENOUGH_REPLICAS),
            ):
                asked = trio.current_time()
                assert await writer.produce(b"b", version=version) is code
                assert trio.current_time() - asked == pytest.approx(0.1)
            # Offsets are not waited with: their client asks again.
            asked = trio.current_time()
            assert await writer.commit_offset(7) is ErrorCode.CONCURRENT_TRANSACTIONS
            assert trio.current_time() == asked

        async def complete_later() -> None:
            await trio.sleep(0.05)
            asked = trio.current_time()
            assert await other.produce(b"other") is ErrorCode.NONE
            assert trio.current_time() == asked
            at_once(running._running.services.transaction_coordinator._endings.retry())

        asked = trio.current_time()
        nursery.start_soon(complete_later)
        assert await writer.produce(b"b") is ErrorCode.NONE
        assert trio.current_time() - asked == pytest.approx(0.05)
        assert await writer.state() == "Ongoing"
