"""A client that another project's generator makes of the OpenAPI does what a test needs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conformance.clients.environments import ClientMissing
from conformance.harness.jars import JarsMissing
from conformance.harness.java import JavaMissing
from conformance.harness.kafkalite import Kafkalite
from conformance.kit.generated import run


@pytest.mark.long
def test_a_generated_java_client_passes_a_scenario(tmp_path: Path) -> None:
    broker = Kafkalite(tmp_path, {"kafkalite.control.port": "0"})
    try:
        control = json.loads((Path(broker.directory) / "ready.json").read_text())["control"]
        told = run(control["url"], control["token"])
    except (ClientMissing, JarsMissing, JavaMissing) as missing:
        pytest.skip(f"left out: {missing}")
    finally:
        broker.stop()
    assert told.splitlines()[-1] == "passed"
