"""`kafkalite lag`."""

from __future__ import annotations

import json
import signal
import subprocess

import pytest

import kafkalite.testing
from conformance.harness.process import killed_in_the_end
from tests.kafkalite.terminal.conftest import Run
from tests.kafkalite.terminal.interruptible import INTERRUPTIBLE


@pytest.fixture
def group(kafka: kafkalite.testing.broker, topic: str) -> str:
    """A group that is 3 records behind in one partition and 1 in the other."""
    kafka.produce(topic, "x", count=5)
    kafka.produce(topic, "x", partition=1)
    name = f"group-of-{topic}"
    kafka.seed({"groups": [{"id": name, "offsets": {topic: {0: 2, 1: 0}}}]})
    return name


def test_of_all_groups(run: Run, group: str) -> None:
    assert [group, "Empty", "0", "2", "4"] in run("lag").lines
    row = {"group": group, "state": "Empty", "members": 0, "partitions": 2, "lag": 4}
    assert row in run("lag", "--json").json


def test_of_one_group(run: Run, group: str, topic: str) -> None:
    rows = run("lag", group, "--json").json
    assert [(each["partition"], each["lag"]) for each in rows] == [(0, 3), (1, 1)]
    assert run("lag", group).lines[1][:5] == [topic, "0", "2", "5", "3"]


def test_watching(kafka: kafkalite.testing.broker, group: str, topic: str) -> None:
    command = [*INTERRUPTIBLE, "lag", group, "--watch", "--json"]
    started = subprocess.Popen(
        [*command, "--interval", "50ms", "-b", kafka.bootstrap],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with killed_in_the_end(started) as watch:
        assert watch.stdout is not None

        def lag() -> int:
            assert watch.stdout is not None
            return sum(each["lag"] for each in json.loads(watch.stdout.readline()))

        assert lag() == 4
        kafka.produce(topic, "y", count=10)
        seen = lag()
        while seen == 4:
            seen = lag()
        assert seen == 14
        watch.send_signal(signal.SIGINT)
        assert watch.wait(30) == 0
        assert watch.stderr is not None
        assert watch.stderr.read() == b""
