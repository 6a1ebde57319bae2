"""Metrics cost nothing unless they are asked for."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import trio

import kafkalite
from kafkalite.broker import Broker
from kafkalite.config import BrokerConfig
from kafkalite.server.listener import StartError
from kafkalite.testing import broker as test_broker
from tests.kafkalite.scraping import SECONDS


def test_a_port_in_use_is_said_to_be_that_of_metrics() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with (
            pytest.raises(
                StartError, match=rf"^metrics \(kafkalite.metrics.port\): .*127.0.0.1:{port}"
            ),
            test_broker({"kafkalite.metrics.port": port}),
        ):
            pass


def refuses(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return True
    return False


async def test_a_port_that_was_given_listens_when_the_broker_answers(tmp_path: Path) -> None:
    """A probe must not wait while data are opened. A free port is not known before, and held."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = {"kafkalite.metrics.host": "127.0.0.1", "listeners": "PLAINTEXT://127.0.0.1:0"}
    for given in (port, 0):
        asked = {**config, "log.dirs": str(tmp_path), "kafkalite.metrics.port": str(given)}
        with Broker(BrokerConfig(asked)) as broker:
            assert broker.metrics is not None
            found = urlsplit(broker.metrics.url).port or 0
            assert refuses(found) is bool(given)
            async with trio.open_nursery() as nursery:
                await nursery.start(broker.serve)
                assert not refuses(found)
                broker.stop()


async def test_a_port_that_another_process_took_meanwhile_ends_the_start(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)}
    with (
        Broker(BrokerConfig({**config, "kafkalite.metrics.port": str(port)})) as broker,
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(StartError, match=rf"^metrics .*127.0.0.1:{port}"),
    ):
        await broker.serve()


def run(tmp_path: Path, *arguments: str) -> tuple[dict[str, Any], set[str], str]:
    """Start the command and stop it: its ready file, the modules it imported, its stderr."""
    ready_file = tmp_path / "ready.json"
    code = (
        "import sys, threading, os, signal, time\n"
        "from pathlib import Path\n"
        "from kafkalite.__main__ import main\n"
        "ready = []\n"
        "def stop():\n"
        "    while not Path(sys.argv[1]).exists(): time.sleep(0.01)\n"
        "    ready.append(Path(sys.argv[1]).read_text().strip())\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
        "threading.Thread(target=stop, daemon=True).start()\n"
        "main(['--temporary', '--port', '0', '--ready-file', *sys.argv[1:]])\n"
        "print(ready[0])\n"
        "print(' '.join(sys.modules))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(kafkalite.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(ready_file), *arguments],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
        timeout=SECONDS,
    )
    _, ready, modules = done.stdout.splitlines()
    return json.loads(ready), set(modules.split()), done.stderr


OPTIONAL = {"prometheus_client", "h11", "pythonjsonlogger", "kafkalite.metrics"}


def test_who_asks_for_nothing_pays_nothing(tmp_path: Path) -> None:
    ready, modules, errors = run(tmp_path)
    assert "metrics" not in ready
    assert not OPTIONAL & modules
    assert re.fullmatch(r"\d{4}-\d\d-\d\d [\d:,]+ INFO stopping on SIGTERM\n", errors)


def test_flags_for_machines(tmp_path: Path) -> None:
    ready, modules, errors = run(tmp_path, "--metrics-port", "0", "--log-format", "json")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", ready["metrics"])
    assert modules >= OPTIONAL
    (line,) = errors.splitlines()
    said = json.loads(line)
    assert said.pop("timestamp").endswith("+00:00")
    assert said == {
        "level": "INFO",
        "logger": "kafkalite.server.start_signals",
        "message": "stopping on SIGTERM",
    }
