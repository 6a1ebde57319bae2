"""`kafkalite sweep`: any program, once for each position."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kafkalite.client import sweep_command
from kafkalite.client.sweep_command import main

PROGRAM = """
import os, sys
from confluent_kafka import Producer
from kafkalite.client.connecting import Client
kit = Client(os.environ["KAFKALITE_URL"], os.environ["KAFKALITE_TOKEN"],
             os.environ["KAFKALITE_CLUSTER"])
kit.create_topic("out")
producer = Producer({"bootstrap.servers": os.environ["KAFKALITE_BOOTSTRAP"],
                     "enable.idempotence": sys.argv[1] == "careful"})
for value in "ab":
    producer.produce("out", value)
    producer.flush(30)
found = [record.value for record in kit.records("out")]
sys.exit(0 if found == ["a", "b"] else f"found {found}")
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


@pytest.mark.slow
def test_a_program_that_is_not_careful(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces = tmp_path / "traces"
    flags = ("--api", "Produce", "--topic", "out", "--drop", "after", "--traces", str(traces))
    assert main([*flags, "--", sys.executable, program, "careless"]) == 1
    said = capsys.readouterr().out
    assert "2 requests match: 0 passed, 2 failed, 0 not reached" in said
    assert "found ['a', 'a', 'b']" in said
    assert '"skip":1' in said
    assert sorted(path.name for path in traces.iterdir()) == [
        "drop-after-1.zip",
        "drop-after-2.zip",
    ]


@pytest.mark.slow
def test_a_careful_one(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = (
        "--api",
        "Produce",
        "--drop",
        "after",
        "--drop",
        "before",
        "--pairs",
        "--limit",
        "6",
        "-j2",
    )
    assert main([*flags, "--", sys.executable, program, "careful"]) == 0
    said = capsys.readouterr().out
    assert "2 requests match: 6 passed, 0 failed, 0 not reached, 10 left out" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--drop", "after"), "needs an action, and a command"),
        (("--", "true"), "needs an action, and a command"),
        (("--drop", "after", "--", "true"), "no request matches"),
        (("--drop", "after", "--", "false"), "fails without a fault: exit code 1"),
        (("--drop", "after", "--", "no-such-program"), "there is no program 'no-such-program'"),
        (("--error", "ODD", "--", "true"), "no request matches"),
        (("--drop", "after", "--timeout", "0.01", "--", "sleep", "9"), "takes longer than 0.01 s"),
    ],
)
def test_nothing_to_sweep(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--api", "Produce", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "the following arguments are required: --api"),
        (("--api", "Produce", "--drop", "never"), "argument --drop: invalid choice: 'never'"),
        (("--api", "Produce", "-j", "0"), "argument -j/--jobs: '0' is no number from 1 on"),
    ],
)
def test_a_mistake_is_one_sentence(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    error = capsys.readouterr().err
    assert (ended.value.code, error.count("\n")) == (2, 1)
    assert error.startswith(f"kafkalite: {said}")
    assert error.endswith("(kafkalite sweep --help shows what there is)\n")


def test_a_terminal_is_told_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep_command._tell(1, 2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    sweep_command._tell(1, 2)
    sweep_command._tell(2, 2)
    assert capsys.readouterr().err == "\r1 of 2 runs\r2 of 2 runs\n"


WAITS = """
import os, sys, time
from pathlib import Path
from confluent_kafka import Producer
producer = Producer({"bootstrap.servers": os.environ["KAFKALITE_BOOTSTRAP"]})
for _ in range(3):
    producer.produce("out", "x")
    producer.flush(30)
runs = Path(sys.argv[1])
with runs.open("a") as file:
    file.write(f"{os.getpid()}\\n")
if len(runs.read_text().split()) > 1:
    time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_with_all_that_it_has_started(
    tmp_path: Path, number: signal.Signals
) -> None:
    temporary, program, runs = tmp_path / "tmp", tmp_path / "program.py", tmp_path / "runs"
    temporary.mkdir()
    runs.touch()
    program.write_text(WAITS)
    words = ["sweep", "--api", "Produce", "--drop", "after", "--", sys.executable, program, runs]
    process = subprocess.Popen(
        [sys.executable, "-m", "kafkalite", *words],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    deadline = time.monotonic() + 60
    while len(runs.read_text().split()) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    said, _ = process.communicate(timeout=30)
    assert (process.returncode, said) == (128 + number, b"")
    started = runs.read_text().split()
    assert len(started) == 2
    assert not Path(f"/proc/{started[1]}").exists()
    assert list(temporary.iterdir()) == []
