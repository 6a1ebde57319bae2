"""Kafka Streams applications whose groups are streams groups, and the tool for these (KIP-1071)."""

from __future__ import annotations

import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.conftest import NewBroker
from conformance.harness.broker import Broker
from conformance.harness.jars import kafka_streams_jars
from conformance.harness.java import find_java
from conformance.scenarios.test_java_tools import ran

PROGRAM = Path(__file__).parent.parent / "harness" / "StreamsScenario.java"
# Heartbeats bring tasks to members; it should not take five seconds for each step here.
QUICK = {
    "group.streams.heartbeat.interval.ms": "300",
    "group.streams.min.heartbeat.interval.ms": "300",
    "group.streams.session.timeout.ms": "6000",
    "group.streams.min.session.timeout.ms": "6000",
}
SECONDS = 60
TASKS = {f"{subtopology}_{partition}" for subtopology in (0, 1) for partition in (0, 1)}


class Application:
    """One instance, a process of its own."""

    def __init__(
        self, broker: Broker, name: str, topics: tuple[str, str], state: Path, guarantee: str
    ) -> None:
        self.lines: list[str] = []
        self._process = subprocess.Popen(
            [
                *(str(find_java()), "-XX:TieredStopAtLevel=1", "-cp", f"{kafka_streams_jars()}/*"),
                *("-Dorg.slf4j.simpleLogger.defaultLogLevel=error", str(PROGRAM)),
                *(broker.bootstrap, name, *topics, str(state), state.name, guarantee),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def tasks(self) -> tuple[set[str], set[str]]:
        """The active ones and the standbys."""
        said = [line for line in self.lines if line.startswith("tasks ")]
        active, _, standby = (said[-1] if said else "tasks  standby ")[6:].partition(" standby ")
        return set(filter(None, active.split(","))), set(filter(None, standby.split(",")))

    def until(self, done: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not done():
            assert time.monotonic() < deadline, "\n".join(self.lines)
            time.sleep(0.1)

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(SECONDS)
        self.kill()

    def kill(self) -> None:
        """End it at once, if it has not ended."""
        self._process.kill()
        self._process.wait(SECONDS)
        self._reader.join(SECONDS)
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            stream.close()


@pytest.fixture
def quick(new_broker: NewBroker) -> Broker:
    return new_broker(QUICK)


@pytest.fixture
def start(quick: Broker, unique: Any, tmp_path: Path) -> Iterator[Callable[..., Application]]:
    """Start an instance of the application: `start("one")`."""
    name = unique("application")
    source, sink = f"{name}-source", f"{name}-sink"
    for topic in (source, sink):
        ran("kafka-topics", quick, "--create", "--topic", topic, "--partitions", "2")
    started: list[Application] = []

    def make(instance: str, guarantee: str = "at_least_once") -> Application:
        application = Application(quick, name, (source, sink), tmp_path / instance, guarantee)
        application.name, application.source, application.sink = name, source, sink
        started.append(application)
        return application

    yield make
    for application in started:
        application.kill()


def say(broker: Broker, application: Application, words: str) -> None:
    given = "\n".join(words.split()) + "\n"
    ran("kafka-console-producer", broker, "--topic", application.source, given=given)


def counts(broker: Broker, application: Application, expected: int) -> dict[str, int]:
    """The last count of each word among so many results."""
    printed = ran(
        *("kafka-console-consumer", broker, "--topic", application.sink, "--from-beginning"),
        *("--max-messages", str(expected), "--timeout-ms", "30000"),
        *("--formatter-property", "print.key=true", "--isolation-level", "read_committed"),
    )
    found: dict[str, int] = {}
    for line in printed.lines:
        word, _, count = line.partition("\t")
        found[word] = max(found.get(word, 0), int(count))
    return found


@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_words_are_counted(quick: Broker, start: Any, guarantee: str) -> None:
    one = start("one", guarantee)
    say(quick, one, "a b a c a b")
    one.until(lambda: one.tasks[0] == TASKS)
    assert counts(quick, one, 6) == {"a": 3, "b": 2, "c": 1}
    tool = ("kafka-streams-groups", quick)
    assert ran(*tool, "--list").lines == [one.name]
    assert "Stable" in ran(*tool, "--describe", "--group", one.name, "--state").output
    members = ran(*tool, "--describe", "--group", one.name, "--members").output
    assert re.search(r"0:\[0,1\]", members.replace(" ", "")), members
    assert one.source in ran(*tool, "--describe", "--group", one.name).output
    one.close()
    assert "state NOT_RUNNING" in one.lines
    assert "state ERROR" not in one.lines
    described = ran(*tool, "--describe", "--group", one.name, "--state").output
    assert "Stable" in described or "Empty" in described, "it may come back"


def test_an_instance_comes_and_another_is_killed(quick: Broker, start: Any) -> None:
    one = start("one")
    say(quick, one, "a b")
    one.until(lambda: one.tasks[0] == TASKS)
    two = start("two")
    two.until(lambda: len(two.tasks[0]) == 2 and one.tasks[0] | two.tasks[0] == TASKS)
    say(quick, one, "a b c")
    assert counts(quick, one, 5) == {"a": 2, "b": 2, "c": 1}
    one.kill()
    two.until(lambda: two.tasks[0] == TASKS)
    say(quick, two, "a")
    assert counts(quick, two, 6)["a"] == 3
    two.close()


def test_standbys(quick: Broker, start: Any) -> None:
    one = start("one")
    which = ("--entity-type", "groups", "--entity-name", one.name)
    config = "streams.num.standby.replicas=1"
    ran("kafka-configs", quick, "--alter", *which, "--add-config", config)
    two = start("two")
    stateful = {task for task in TASKS if task.startswith("1_")}
    two.until(lambda: one.tasks[1] | two.tasks[1] == stateful and len(one.tasks[0]) == 2)
    assert one.tasks[0].isdisjoint(one.tasks[1])
    two.kill()
    one.until(lambda: one.tasks[0] == TASKS)
    one.close()


def test_the_broker_is_killed(quick: Broker, start: Any) -> None:
    one = start("one")
    say(quick, one, "a b")
    assert counts(quick, one, 2) == {"a": 1, "b": 1}
    quick.kill()
    quick.start()
    say(quick, one, "a b a")
    assert counts(quick, one, 5) == {"a": 3, "b": 2}
    assert "state ERROR" not in one.lines
    one.close()
