"""`kafkalite run`: any command beside a broker of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafkalite.client.run_command import main

SUITE = """
import json, os, sys
from kafkalite.client.connecting import Client
kit = Client(os.environ["KAFKALITE_URL"], os.environ["KAFKALITE_TOKEN"])
kit.create_topic("orders")
found = kit.describe()
ready = json.load(open(os.environ["KAFKALITE_READY_FILE"]))
print(found.bootstrap == os.environ["KAFKALITE_BOOTSTRAP"] == ready["bootstrap"])
print(os.environ["KAFKALITE_CLUSTER"], len(found.bootstrap.split(",")))
sys.exit(7)
"""


def run(*arguments: str) -> tuple[int, str, str]:
    """In a process of its own: librdkafka's threads in this one write to its descriptors."""
    command = [sys.executable, "-m", "kafkalite", "run", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.slow
def test_a_suite_finds_its_broker() -> None:
    assert run("--nodes", "2", "--", sys.executable, "-c", SUITE) == (7, "True\ndefault 2\n", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "run needs a command after --: kafkalite run -- pytest"),
        (("pytest",), "run needs a command after --: kafkalite run -- pytest"),
        (("--",), "run needs a command after --: kafkalite run -- pytest"),
        (("--", "no-such-program"), "there is no program 'no-such-program'"),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"kafkalite: {said}\n"


@pytest.mark.slow
def test_the_broker_says_what_is_wrong_with_its_flags() -> None:
    code, _, said = run("--nodes", "0", "--", "true")
    assert code == 2
    assert said.startswith("kafkalite: ")
    assert said.count("\n") == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_signals_are_for_the_command_and_nothing_is_left(tmp_path: Path, number: int) -> None:
    """The broker ends with the process that has started it, also if that is killed."""
    script = 'cat "$KAFKALITE_READY_FILE"; exec sleep 60'
    process = subprocess.Popen(
        [sys.executable, "-m", "kafkalite", "run", "--", "sh", "-c", script],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    process.send_signal(number)
    code = process.wait(10)
    assert code == (-number if number == signal.SIGKILL else 128 + number)
    if number == signal.SIGKILL:
        os.killpg(process.pid, signal.SIGKILL)  # the command itself goes on
    process.stdout.close()
    deadline = time.monotonic() + 10
    while Path(told["data_dir"]).exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_ctrl_c_is_for_the_command() -> None:
    """A suite may say more before it ends; it still has its broker then."""
    script = (
        "import os, signal, socket, time\n"
        "host, port = os.environ['KAFKALITE_BOOTSTRAP'].rsplit(':', 1)\n"
        "try: print('began', flush=True); time.sleep(60)\n"
        "except KeyboardInterrupt: time.sleep(0.3)\n"
        "socket.create_connection((host, int(port)))\n"
        "print('ended')\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "kafkalite", "run", "--", sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "began\n"
    os.killpg(process.pid, signal.SIGINT)
    said, _ = process.communicate(timeout=20)
    assert (said, process.returncode) == ("ended\n", 0)
