"""The verbs that look: what they show, and what they raise."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from kafkalite.client.looking import Looking
from kafkalite.control.problems import Problem
from kafkalite.testing import broker as test_broker


async def test_requests_events_and_a_trace(broker: test_broker, tmp_path: Path) -> None:
    k = broker.asynchronous
    with pytest.raises(Problem, match="the spy is off"):
        await k.requests()
    assert (await k.spy("full", bytes=4096)).bytes == 4096
    assert await k.requests("Produce") == []
    await k.create_topic("t")
    (created,) = await k.events("topic.*")
    assert created.about == {"topic": "t"}
    assert await k.events(after=created.seq) == []
    path = await k.trace(tmp_path / "trace.zip")
    assert zipfile.is_zipfile(path)


async def test_traffic_and_configs_without_effect(broker: test_broker) -> None:
    k = broker.asynchronous
    assert (await k.traffic("10ms")).requests == 0
    await k.create_topic("t", configs={"preallocate": True})
    (found,) = await k.unsupported()
    assert (found.where, found.name, found.value) == ("topic t", "preallocate", "true")


def test_a_kit_says_how_it_asks() -> None:
    with pytest.raises(NotImplementedError):
        Looking().events()
