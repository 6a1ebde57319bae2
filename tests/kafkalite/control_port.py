"""The command as a process with a control port, and the file that says where it is."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest


def started(ready: Path, *flags: str) -> subprocess.Popen[bytes]:
    """The command, ready or ended. On a busy machine that may take its time."""
    command = [sys.executable, "-m", "kafkalite", "--port", "0", "--ready-file", str(ready)]
    process = subprocess.Popen([*command, "--log-level", "warning", *flags])
    while not ready.exists() and process.poll() is None:
        time.sleep(0.02)
    return process


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("control") / "ready.json"
    process = started(path, "--temporary", "--control-port", "0", "--profile", "test")
    try:
        yield path
    finally:
        process.terminate()
        assert process.wait() == 0
