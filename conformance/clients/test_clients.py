"""Clients of many versions: produce with every codec, consume in a group, commit, transactions.

`--matrix` runs every version; without it, the oldest of each client runs, and no Spark: the
scenarios and the Spark tests have the newest.
"""

import os
import subprocess
from collections.abc import Callable

import pytest

from conformance.clients.environments import ClientMissing, runnable
from conformance.clients.matrix import CLIENTS, SPARKS, Client
from conformance.harness.broker import Broker

SECONDS = 240


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The oldest version of each client, whose newest the scenarios use; all with `--matrix`."""
    every = {client.name: client for client in reversed(CLIENTS)}.values()
    chosen = [*CLIENTS, *SPARKS] if metafunc.config.getoption("--matrix") else every
    metafunc.parametrize("client", chosen, ids=str)


def test_a_client_of_this_version(
    client: Client, broker: Broker, unique: Callable[[str], str]
) -> None:
    try:
        program = runnable(client)
    except ClientMissing as missing:
        pytest.skip(f"left out: {client} ({missing})")
    ran = subprocess.run(
        [*program.command, broker.bootstrap, unique("smoke"), *client.steps],
        check=False,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **program.environment},
    )
    assert ran.stdout.splitlines() == [f"passed: {step}" for step in client.steps], ran.stderr
