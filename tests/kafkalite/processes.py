"""The command as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import kafkalite

COMMAND = (sys.executable, "-m", "kafkalite", "--port", "0", "--log-level", "warning")


@contextmanager
def started(*arguments: str, descriptors: int = 1024) -> Iterator[subprocess.Popen[str]]:
    """The command as a process that may open so many files, once clients can connect."""
    environment = os.environ | {"PYTHONPATH": str(Path(kafkalite.__file__).parent.parent)}
    process = subprocess.Popen(
        ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("kafkalite "), process.stderr.read()
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
