"""Traffic is counted while somebody looks, and only then."""

from __future__ import annotations

from typing import Any

import pytest
import trio

from kafkalite.control.problems import Problem
from kafkalite.server.dispatch import Dispatcher
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.metadata import MetadataRequest


async def test_requests_and_bytes_are_counted_for_a_while(broker: test_broker, client: Any) -> None:
    told: list[Any] = []

    async def count() -> None:
        told.append(await broker.asynchronous.ask("traffic", over="500ms"))

    await client.ask(MetadataRequest(topics=[]))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(count)
        await trio.sleep(0.1)
        for _ in range(3):
            await client.ask(MetadataRequest(topics=[]))
    (seen,) = told
    assert (seen.requests, seen.apis) == (3, {"Metadata": 3})
    assert 0.5 <= seen.seconds < 10
    assert seen.request_bytes % 3 == 0
    assert seen.answer_bytes > seen.request_bytes > 0


async def test_nothing_counts_when_nobody_looks(broker: test_broker, client: Any) -> None:
    connections = broker._default.broker.connections
    assert isinstance(connections._handler, Dispatcher)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: broker.asynchronous.ask("traffic", over="100ms"))
        nursery.start_soon(lambda: broker.asynchronous.ask("traffic", over="200ms"))
        await trio.sleep(0.05)
        assert not isinstance(connections._handler, Dispatcher)
    assert isinstance(connections._handler, Dispatcher)
    await client.ask(MetadataRequest(topics=[]))


async def test_a_duration_that_is_none(broker: test_broker) -> None:
    with pytest.raises(Problem, match="not a duration"):
        await broker.asynchronous.ask("traffic", over="soon")
