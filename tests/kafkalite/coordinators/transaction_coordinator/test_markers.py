"""Markers end transactions in partitions; deleted topics need none."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.few_partitions import FEW_PARTITIONS
from tests.kafkalite.transactional import (
    TOPIC,
    Transactional,
)


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
