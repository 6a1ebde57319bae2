"""`kafkalite requests`."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from confluent_kafka import OFFSET_END, Consumer, TopicPartition

from conformance.harness.process import killed_in_the_end
from kafkalite.client.connecting import Client
from kafkalite.control.sightings import RequestView
from kafkalite.terminal.requests import as_text
from tests.kafkalite.control_port import ready
from tests.kafkalite.terminal.conftest import Run
from tests.kafkalite.terminal.interruptible import INTERRUPTIBLE

__all__ = ["ready"]


@pytest.fixture
def control(ready: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    """The control port that the environment names; the spy is off."""
    monkeypatch.setenv("KAFKALITE_READY_FILE", str(ready))
    monkeypatch.delenv("KAFKALITE_BOOTSTRAP")
    client = Client.of_ready_file(ready)
    client.ask("requests.clear")
    yield client
    client.ask("spy.set", mode="off")


@pytest.mark.slow
def test_the_last_ones(run: Run, control: Client) -> None:
    ran = run("requests")
    assert (ran.code, ran.out) == (0, "")
    assert "the spy is off: kafkalite spy set on, or --follow" in ran.error
    control.ask("spy.set", mode="on")
    run("produce", "orders", given="x\n")
    rows = [json.loads(line) for line in run("requests", "--json", "-n", "100").out.splitlines()]
    [sent] = [row for row in rows if row["api"] == "Produce"]
    assert (sent["topics"], sent["error"], sent["outcome"]) == (["orders"], None, "answered")
    [line] = run("requests", "--api", "Prod*", "--topic", "orders").out.splitlines()
    assert "  Produce v" in line
    assert "  orders  ok  " in line
    assert run("requests", "--api", "Produce", "--error", "*").out == ""
    assert run("requests", "--client-id", "none").out == ""


@contextmanager
def following(ready: Path, api: str) -> Iterator[IO[bytes]]:
    """The output of `requests --follow`, which is interrupted in the end."""
    command = [*INTERRUPTIBLE, "requests", "-f", "--json", "--api", api]
    started = subprocess.Popen(
        [*command, "--ready-file", str(ready)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with killed_in_the_end(started) as process:
        control = Client.of_ready_file(ready)
        while control.ask("spy.show").mode == "off":
            assert process.poll() is None
        assert process.stdout is not None
        assert process.stderr is not None
        yield process.stdout
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        assert process.stderr.read() == b""


@pytest.mark.slow
def test_following(run: Run, control: Client, ready: Path) -> None:
    run("produce", "orders", given="before\n")
    with following(ready, "Produce") as out:
        for _ in range(2):
            run("produce", "orders", given="after\n")
        seen = [json.loads(out.readline()) for _ in range(2)]
    assert [each["api"] for each in seen] == ["Produce", "Produce"]
    assert seen[0]["seq"] < seen[1]["seq"]
    assert control.ask("spy.show").mode == "off"


@pytest.mark.slow
def test_a_request_that_waits_is_shown_once_it_is_answered(
    run: Run, control: Client, ready: Path
) -> None:
    run("produce", "orders", given="x\n")
    consumer = Consumer(
        {
            "bootstrap.servers": json.loads(ready.read_text())["bootstrap"],
            "group.id": "waits",
            "fetch.wait.max.ms": 2000,
        }
    )
    with following(ready, "Fetch") as out:
        consumer.assign([TopicPartition("orders", 0, OFFSET_END)])
        seen = json.loads(out.readline())
    consumer.close()
    assert seen["outcome"] == "answered"
    assert seen["parked_ms"] > 0


@pytest.mark.parametrize(
    ("said", "code", "sentence"),
    [
        ((), 2, "where is the broker?"),
        (("--ready-file", "/no/file"), 2, "the ready file cannot be read"),
        (("--url", "http://127.0.0.1:1", "--token", "t"), 1, "no control port answers"),
        (("-n", "0"), 2, "-n"),
    ],
)
def test_what_goes_wrong(
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    said: tuple[str, ...],
    code: int,
    sentence: str,
) -> None:
    monkeypatch.delenv("KAFKALITE_READY_FILE", raising=False)
    ran = run("requests", *said)
    assert (ran.code, ran.out) == (code, "")
    assert sentence in ran.error


def test_a_broker_without_a_control_port(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "ready.json"
    path.write_text('{"bootstrap": "127.0.0.1:9092"}')
    ran = run("requests", "--ready-file", str(path))
    assert (ran.code, ran.out) == (2, "")
    assert "it has no control port" in ran.error


def view(**changed: Any) -> RequestView:
    fields: dict[str, Any] = {
        "seq": 7,
        "connection": "127.0.0.1:5",
        "client_id": "app",
        "api": "Fetch",
        "version": 12,
        "correlation_id": 1,
        "received_ms": 1000.0,
        "cluster_ms": 1000,
        "answered_ms": 1002.5,
        "parked_ms": None,
        "request_bytes": 1,
        "answer_bytes": 1,
        "outcome": "answered",
        "error": None,
        "errors": [],
        "topics": ["a", "b"],
        "fault": None,
        "why": "",
    }
    return RequestView(**(fields | changed))


def test_a_line_of_text() -> None:
    assert as_text(view()).plain.endswith("  7  Fetch v12  app at 127.0.0.1:5  a, b  ok  2.5 ms")
    refused = view(error="NOT_COORDINATOR", topics=[], client_id="", fault="f1")
    assert as_text(refused).plain.endswith("- at 127.0.0.1:5  NOT_COORDINATOR  by fault f1  2.5 ms")
    closed = view(outcome="closed", answered_ms=None, why="cut")
    assert as_text(closed).plain.endswith("  a, b  closed (cut)")
