"""The parts of client telemetry are made, and imported, when they are needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.config import ConfigError
from kafkalite.telemetry import client_telemetry
from kafkalite.testing import broker as test_broker
from tests.kafkalite.metrics.test_endpoint import run

ON = {"kafkalite.client.telemetry": "true"}


def test_a_receiver_needs_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_telemetry, "is_installed", lambda: False)
    with pytest.raises(ConfigError, match=r"pip install kafkalite\[telemetry\]"), test_broker(ON):
        pass
    with test_broker():
        pass


def test_a_start_imports_none_of_it(tmp_path: Path) -> None:
    _, modules, _ = run(tmp_path, "--set", "kafkalite.client.telemetry=true")
    assert "kafkalite.telemetry.client_telemetry" in modules
    assert not {each for each in modules if each.startswith(("opentelemetry.", "google."))}
    assert "kafkalite.telemetry.client_instances" not in modules


async def test_each_node_knows_its_own_clients_and_all_keep_what_was_pushed() -> None:
    async with test_broker(ON, nodes=2) as running:
        telemetry = running._running.services.telemetry
        assert telemetry.instances(1) is telemetry.instances(1)
        assert telemetry.instances(1) is not telemetry.instances(2)
        assert not telemetry.has_pushed
        assert telemetry.pushed is telemetry.pushed
        assert telemetry.has_pushed
