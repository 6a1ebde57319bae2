"""`make cluster`: one command, and a cluster that clients reach until Ctrl-C."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.harness.process import start_process

ROOT = Path(__file__).parent.parent
SECONDS = 90
TOLD = "clients: bootstrap.servers="

pytestmark = pytest.mark.xdist_group("cluster")


def test_it_says_how_it_is_reached_and_ends_with_all_its_processes(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "conformance.cluster", "--directory", str(tmp_path)]
    started = start_process(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        (bootstrap,) = [
            line.removeprefix(TOLD).strip() for line in until_told(started) if TOLD in line
        ]
        admin = AdminClient({"bootstrap.servers": bootstrap})
        assert len(admin.list_topics(timeout=SECONDS).brokers) == 3
        admin.create_topics([NewTopic("t", 1, 3)])["t"].result(SECONDS)
        producer = Producer({"bootstrap.servers": bootstrap, "acks": "all"})
        producer.produce("t", b"v")
        assert producer.flush(SECONDS) == 0
        started.send_signal(signal.SIGINT)
        assert started.wait(SECONDS) == 0
    finally:
        started.kill()
        started.wait()
        if started.stdout is not None:
            started.stdout.close()
    assert [each for each in commands() if str(tmp_path) in each] == []


def until_told(started: subprocess.Popen[str]) -> list[str]:
    """All that it says until it says how it ends."""
    told: list[str] = []
    assert started.stdout is not None
    for line in started.stdout:
        told.append(line)
        if "Ctrl-C" in line:
            break
    return told


def commands() -> list[str]:
    """The commands of all processes."""
    listed = subprocess.run(["ps", "-eo", "args"], check=True, capture_output=True, text=True)
    return listed.stdout.splitlines()
