"""The pytest fixtures that the package brings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import kafkalite


def test_the_fixtures_of_the_package(tmp_path: Path) -> None:
    """In a pytest of its own, as a user would run it: the entry point alone brings the plugin."""
    (tmp_path / "test_it.py").write_text(
        "import socket\n"
        "def test_one(kafkalite_broker, kafkalite_broker_session):\n"
        "    kafkalite_broker.create_topic('words')\n"
        "    assert kafkalite_broker.bootstrap != kafkalite_broker_session.bootstrap\n"
        "    host, _, port = kafkalite_broker_session.bootstrap.rpartition(':')\n"
        "    socket.create_connection((host, int(port))).close()\n"
        "def test_two(kafkalite_broker):\n"
        "    kafkalite_broker.create_topic('words')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    environment = os.environ | {"PYTHONPATH": str(Path(kafkalite.__file__).parent.parent)}
    done = subprocess.run(
        [*command, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr


def test_importing_the_plugin_is_cheap() -> None:
    code = "import sys, kafkalite.pytest_plugin; print('trio' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(Path(kafkalite.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.strip() == "False"
