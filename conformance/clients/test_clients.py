"""Clients of many versions: produce with every codec, consume in a group, commit, transactions.

`--matrix` runs every version; without it, the oldest of each client runs, and no Spark: the
scenarios and the Spark tests have the newest. `--as-version 3.9` has kafkalite look like a release.
"""

import os
import subprocess
from collections.abc import Callable

import pytest

from conformance.clients.environments import ClientMissing, runnable
from conformance.clients.matrix import CLIENTS, SPARKS, Client
from conformance.harness.broker import Broker
from kafkalite.config.releases import releases

SECONDS = 240
_LONG = pytest.mark.long


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The oldest version of each client, whose newest the scenarios use; all with `--matrix`.

    Those in Go are compiled first, which takes longer than all others together: `make long`.
    """
    every = {client.name: client for client in reversed(CLIENTS)}.values()
    chosen = [*CLIENTS, *SPARKS] if metafunc.config.getoption("--matrix") else every
    marked = [pytest.param(each, marks=_LONG if each.is_go else ()) for each in chosen]
    metafunc.parametrize("client", marked, ids=str)


def steps_of(client: Client, release: str | None) -> list[str]:
    """The steps that there are in a release: share groups came with 4.2."""
    has_share_groups = release is None or "share.version" in releases()[release].features
    return [step for step in client.steps if step != "share" or has_share_groups]


def test_a_client_of_this_version(
    client: Client, broker: Broker, unique: Callable[[str], str], pytestconfig: pytest.Config
) -> None:
    steps = steps_of(client, pytestconfig.getoption("--as-version"))
    try:
        program = runnable(client)
    except ClientMissing as missing:
        pytest.skip(f"left out: {client} ({missing})")
    ran = subprocess.run(
        [*program.command, broker.bootstrap, unique("smoke"), *steps],
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **program.environment},
    )
    assert ran.stdout.splitlines() == [f"passed: {step}" for step in steps], ran.stderr
