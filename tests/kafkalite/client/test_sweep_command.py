"""`kafkalite sweep`: any program, once for each position."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

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
    flags = ("--api", "Produce", "--drop", "after", "--drop", "before", "--limit", "3")
    assert main([*flags, "--", sys.executable, program, "careful"]) == 0
    said = capsys.readouterr().out
    assert "2 requests match: 3 passed, 0 failed, 0 not reached, 1 left out" in said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--drop", "after"), "needs an action, and a command"),
        (("--", "true"), "needs an action, and a command"),
        (("--drop", "after", "--", "true"), "no request matches"),
        (("--drop", "after", "--", "false"), "fails without a fault: exit code 1"),
        (("--error", "ODD", "--", "true"), "no request matches"),
        (("--drop", "after", "--timeout", "0.01", "--", "sleep", "9"), "takes longer than 0.01 s"),
    ],
)
def test_nothing_to_sweep(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--api", "Produce", *arguments]) == 2
    assert said in capsys.readouterr().err
