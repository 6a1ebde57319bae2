"""Clusters that nobody uses end: a test run that crashed leaves nothing behind."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from kafkalite.config import BrokerConfig
from kafkalite.control import clusters as module
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.clusters import Clusters
from kafkalite.control.questions import CreateCluster
from tests.kafkalite.until import until


async def test_an_idle_cluster_ends_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that is asked for, or that has a connection, is not idle."""
    monkeypatch.setattr(module, "_LOOK_FOR_IDLE_SECONDS", 0.02)
    config = BrokerConfig({"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)})
    default = ControlledCluster("default", config, tmp_path)
    default.open()
    clusters = Clusters(default, tmp_path, config)

    def names() -> list[str]:
        return [each.name for each in clusters.all()]

    def an_hour_passes() -> None:
        for made in clusters._made.values():
            made.last_seen -= 3600

    async with trio.open_nursery() as nursery:
        await nursery.start(clusters.run)
        await clusters.create(CreateCluster(name="kept", idle_end=None))
        used = await clusters.create(CreateCluster(name="used", idle_end="50m"))
        idle = await clusters.create(CreateCluster(name="idle", idle_end="50m"))
        host, _, port = used.broker.bootstrap.rpartition(":")
        async with await trio.open_tcp_stream(host, int(port)):
            await until(lambda: len(used.broker.connections) == 1)
            an_hour_passes()
            with trio.fail_after(20):
                await idle.ended.wait()
            assert names() == ["default", "kept", "used"]
        await until(lambda: len(used.broker.connections) == 0)
        an_hour_passes()
        with trio.fail_after(20):
            await used.ended.wait()
        assert names() == ["default", "kept"]
        clusters.stop()
    assert default.ended.is_set()
