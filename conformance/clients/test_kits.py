"""The testing kit from Java, Go, Node and .NET: the examples pass, where the platform is there."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.clients.environments import ClientMissing, tool
from conformance.clients.kits import KITS, PACKAGES, Kit, run
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


@pytest.mark.parametrize(
    "line",
    [
        'const { useKafkalite } = require("./kafkalite.js"); console.log(typeof useKafkalite)',
        'import("./kafkalite.js").then((kit) => console.log(typeof kit.useKafkalite))',
    ],
    ids=["require", "import"],
)
def test_node_may_take_it_either_way(line: str) -> None:
    """Jest requires what it tests with, unless it is told otherwise."""
    try:
        node = tool("node")
    except ClientMissing as missing:
        pytest.skip(f"left out: node ({missing})")
    command = [node, "--no-experimental-require-module", "-e", line]
    ran = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=PACKAGES / "node"
    )
    assert ran.stdout == "function\n", ran.stderr
