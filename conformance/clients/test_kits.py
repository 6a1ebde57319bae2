"""The testing kit from Java, Go, Node and .NET: the examples pass, where the platform is there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.clients.environments import ClientMissing
from conformance.clients.kits import KITS, Kit, run
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite

SECONDS = 120
CONFIGS = {
    "kafkalite.control.port": "0",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="module")
def controlled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    broker = Kafkalite(tmp_path_factory.mktemp("controlled"), CONFIGS)
    yield broker
    broker.stop()


@pytest.mark.parametrize("kit", KITS, ids=lambda kit: kit.name)
def test_the_examples_of_a_platform(kit: Kit, controlled: Broker) -> None:
    ready_file = Path(controlled.directory) / "ready.json"
    try:
        ran = run(kit, ready_file, SECONDS)
    except ClientMissing as missing:
        pytest.skip(f"left out: {kit.name} ({missing})")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert kit.passed in ran.stdout, ran.stdout
