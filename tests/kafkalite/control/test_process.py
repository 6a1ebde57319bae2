"""A process with a control port: its token, its address, and the directory that it keeps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kafkalite.client.connecting import Client, read_ready_file
from tests.kafkalite.control_port import started


@pytest.mark.slow
def test_beyond_loopback_only_with_a_token_set_on_purpose(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kafkalite", "--port", "0", "--temporary"]
    flags = ["--control-port", "0", "--set", "kafkalite.control.host=0.0.0.0"]
    done = subprocess.run(
        [*command, *flags], capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 2
    assert "without kafkalite.control.token" in done.stderr
    ready = tmp_path / "ready.json"
    process = started(ready, "--temporary", *flags, "--set", "kafkalite.control.token=secret")
    try:
        assert read_ready_file(ready)[1] == "secret"
        assert Client.of_ready_file(ready).describe().topics == 0
    finally:
        process.terminate()
        assert process.wait(20) == 0


@pytest.mark.slow
def test_a_directory_that_is_kept_is_kept(tmp_path: Path) -> None:
    flags = ["--data-dir", str(tmp_path / "data"), "--control-port", "0"]
    for turn in range(2):
        ready = tmp_path / f"ready-{turn}.json"
        process = started(ready, *flags)
        try:
            client = Client.of_ready_file(ready)
            assert client.describe().topics == turn
            if not turn:
                client.create_topic("before")
                assert client.reset().topics == 1
                client.create_topic("after")
                client.produce("after", "v")
            assert len(client.records("after")) == 1
        finally:
            process.terminate()
            assert process.wait(20) == 0
