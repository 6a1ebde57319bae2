"""A broker as a process beside this one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafkalite.client.broker_process import NotStarted, broker_process, environment

PARENT = """
import sys, time
from kafkalite.client.broker_process import broker_process
with broker_process() as ready:
    print(ready.read_text(), flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
def test_it_ends_with_the_block() -> None:
    with broker_process(["--nodes", "2"]) as ready:
        told = json.loads(ready.read_text())
        assert len(told["bootstrap"].split(",")) == 2
        assert Path(told["data_dir"]).exists()
    assert not Path(told["data_dir"]).exists()
    assert not ready.parent.exists()


@pytest.mark.slow
def test_data_may_be_kept(tmp_path: Path) -> None:
    with broker_process(["--data-dir", str(tmp_path / "data")]) as ready:
        assert json.loads(ready.read_text())["data_dir"] == str(tmp_path / "data")
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


@pytest.mark.slow
def test_it_ends_when_its_parent_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        told = json.loads(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 10
    while Path(told["data_dir"]).exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_one_that_does_not_start(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NotStarted), broker_process(["--nodes", "0"]):
        pass
    assert "kafkalite.nodes" in capfd.readouterr().err


def test_the_variables_of_a_command() -> None:
    variables = environment("h:1", "http://h:2", "t", "default")
    assert variables.items() >= os.environ.items() | {("KAFKALITE_BOOTSTRAP", "h:1")}
    assert (variables["KAFKALITE_URL"], variables["KAFKALITE_TOKEN"]) == ("http://h:2", "t")
