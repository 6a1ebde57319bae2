"""A process whose logs are very many: it closes them, and lives with them, without holding the
loop.
"""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from conformance.soak.speed import slowness
from conformance.soak.stolen_time import StolenTime
from kafkalite.__main__ import _serve
from kafkalite.broker import Broker
from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.config import BrokerConfig
from kafkalite.control.process import ControlledProcess
from kafkalite.log.config import LogConfig
from kafkalite.log.files import CLEAN_SHUTDOWN
from kafkalite.quorum_broker import QuorumBroker
from kafkalite.server.collector import _MANY
from kafkalite.server.start_signals import Start
from kafkalite.server.watchdog import LONG_SECONDS
from tests.kafkalite.test_quorum_broker import config, controllers
from tests.kafkalite.until import until
from tests.log.many_logs import fill

# To close so many at once takes several times as long as is allowed.
MORE = 10_000
KINDS = ("one process", "a cluster")


class LongestStep(trio.abc.Instrument):
    """The longest step of any task: its processor time in seconds, and the task's name."""

    def __init__(self) -> None:
        self.seconds, self.name = 0.0, ""
        self._begun = time.thread_time()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._begun = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        seconds = time.thread_time() - self._begun
        if seconds > self.seconds:
            self.seconds, self.name = seconds, task.name


@pytest.fixture(autouse=True)
def _collecting() -> Iterator[None]:
    """The command freezes what there is, which is not only its own here."""
    yield
    gc.unfreeze()


@asynccontextmanager
async def opened(kind: str, root: Path) -> AsyncIterator[Broker]:
    if kind == "one process":
        configs = {"log.dirs": str(root / "1"), "listeners": "PLAINTEXT://127.0.0.1:0"}
        with Broker(BrokerConfig(configs)) as alone:
            yield alone
        return
    async with controllers(1) as controller:
        with QuorumBroker(config(root, 1, controller)) as broker:
            yield broker


@pytest.mark.parametrize("kind", KINDS)
async def test_all_logs_are_closed_in_slices(tmp_path: Path, kind: str) -> None:
    async with opened(kind, tmp_path) as broker, trio.open_nursery() as nursery:
        ready = tmp_path / "ready.json"
        nursery.start_soon(_serve, broker, Start(), [ready], {})
        await until(ready.exists)
        (directory,) = broker._logs.manager.directories
        fill(directory, LogConfig())
        logs = [*directory.logs.values()]
        for index in range(MORE):
            directory.logs[f"more-{index}", 0] = logs[index % len(logs)]
        longest, stolen = LongestStep(), StolenTime()
        trio.lowlevel.add_instrument(longest)
        broker.stop()
    await trio.lowlevel.checkpoint()
    assert (directory.path / CLEAN_SHUTDOWN).exists()
    most = LONG_SECONDS * slowness()
    assert stolen.own_seconds(longest.seconds, most) < most, longest.name


async def test_the_collector_passes_over_many_partitions_beside_a_control_port(
    tmp_path: Path,
) -> None:
    configs = {
        "log.dirs": str(tmp_path / "data"),
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "kafkalite.control.port": "0",
    }
    with ControlledProcess(BrokerConfig(configs), temporary=True) as process:
        async with trio.open_nursery() as nursery:
            ready = tmp_path / "ready.json"
            nursery.start_soon(_serve, process, Start(), [ready], {})
            await until(ready.exists)
            topics = process.services.topics
            topics.create(NewTopic("many", _MANY, -1))
            found = topics.get("many")
            assert found is not None
            partitions = set(map(id, found.partitions))
            assert not partitions & set(map(id, gc.get_objects()))
            process.stop()
