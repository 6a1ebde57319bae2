"""A broker that never served gives back all it had."""

from __future__ import annotations

from pathlib import Path

from kafkalite.broker import Broker
from kafkalite.config import BrokerConfig
from kafkalite.control.clock import ClusterClock
from kafkalite.control.core import Core


async def test_a_broker_that_never_served_lets_its_directory_go(tmp_path: Path) -> None:
    config = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path / "data")}
    for _ in range(2):
        clock = ClusterClock()
        broker = Broker(BrokerConfig(config), clock=clock)
        broker.__enter__()
        Core(broker, clock, tmp_path / "data").give_up()
        assert broker.is_abandoned
        assert not any(each.is_open for each in broker.listeners)
