"""A command with standard streams that are closed, full, or without a reader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafkalite.config.standard_streams import written

# Python keeps what it could not write, and tries again at its end, unless this is set.
ENVIRONMENT = {name: each for name, each in os.environ.items() if name != "PYTHONUNBUFFERED"}


def test_a_command_that_prints_gives_its_own_code(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> int:
        print("done")
        return 3

    assert written(command) == 3
    assert capsys.readouterr().out == "done\n"


def run(command: str, to: str) -> tuple[int, str]:
    """The exit code and the standard error of a command whose output goes there, by a shell."""
    words = f'"{sys.executable}" -m kafkalite {command} {to}'
    if to.startswith("|"):
        words += "; exit ${PIPESTATUS[0]}"
    done = subprocess.run(
        ["bash", "-c", words],
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
        env=ENVIRONMENT,
    )
    return done.returncode, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", ["--configs", "completion bash"])
def test_output_that_cannot_be_written_is_one_sentence(command: str) -> None:
    sentence = "kafkalite: [Errno 28] No space left on device\n"
    assert run(command, "> /dev/full") == (1, sentence)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["--configs", "completion bash"])
def test_a_reader_that_goes_ends_it_without_a_word(command: str) -> None:
    assert run(command, "| exec 0<&-") == (1, "")


@pytest.mark.slow
@pytest.mark.parametrize("mistake", ["--odd", "--set num.partitions=x"])
def test_a_mistake_that_nobody_can_be_told_of_is_one(mistake: str) -> None:
    assert run(mistake, "2> /dev/full") == (2, "")


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_nothing(closed: str) -> None:
    assert run("--version", closed) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize("streams", ["<&- >&- 2>&-", ">/dev/full", "2>/dev/full", "> >(exit)"])
def test_a_broker_serves_whatever_becomes_of_its_streams(tmp_path: Path, streams: str) -> None:
    """None of its files has the number of a standard stream."""
    ready = tmp_path / "ready.json"
    words = f'exec "{sys.executable}" -m kafkalite --port 0 --temporary --ui --ready-file "{ready}"'
    command = ["bash", "-c", f"{words} {streams}"]
    with subprocess.Popen(command, text=True, env=ENVIRONMENT) as process:
        deadline = time.monotonic() + 30
        while not ready.exists() and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.05)
        pid = json.loads(ready.read_text())["pid"]
        names = [os.readlink(f"/proc/{pid}/fd/{number}") for number in range(3)]
        assert not any("eventpoll" in name or str(tmp_path) in name for name in names)
        if "2>&-" in streams:
            assert names == [os.devnull] * 3
        process.terminate()
        assert process.wait(30) == 0


def test_ctrl_c_is_no_mistake_of_ours(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> int:
        raise KeyboardInterrupt

    assert written(command) == 130
    assert capsys.readouterr() == ("", "")
