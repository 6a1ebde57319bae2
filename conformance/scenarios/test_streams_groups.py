"""Kafka Streams applications in streams groups (KIP-1071) or classic ones, and the groups' tool."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.conftest import NewBroker
from conformance.harness.broker import Broker
from conformance.scenarios.streams_application import TASKS, Application
from conformance.scenarios.test_java_tools import ran

# Heartbeats bring tasks to members; it should not take five seconds for each step here.
QUICK = {
    "group.streams.heartbeat.interval.ms": "300",
    "group.streams.min.heartbeat.interval.ms": "300",
    "group.streams.session.timeout.ms": "6000",
    "group.streams.min.session.timeout.ms": "6000",
}


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

    def make(
        instance: str,
        guarantee: str = "at_least_once",
        protocol: str = "streams",
        base_ms: int = -1,
    ) -> Application:
        how = (guarantee, protocol, f"{base_ms}")
        application = Application(quick, name, (source, sink), tmp_path / instance, *how)
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
    return {word: max(each) for word, each in results(broker, application, expected).items()}


def results(broker: Broker, application: Application, expected: int) -> dict[str, list[int]]:
    """So many results: for each word its counts in order, each of which is told once."""
    printed = ran(
        *("kafka-console-consumer", broker, "--topic", application.sink, "--from-beginning"),
        *("--max-messages", str(expected), "--timeout-ms", "30000"),
        *("--formatter-property", "print.key=true", "--isolation-level", "read_committed"),
    )
    found: dict[str, list[int]] = {}
    for line in printed.lines:
        word, _, count = line.partition("\t")
        found.setdefault(word, []).append(int(count))
    return found


@pytest.mark.parametrize(
    "guarantee", [pytest.param("at_least_once", marks=pytest.mark.long), "exactly_once_v2"]
)
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


@pytest.mark.long
@pytest.mark.parametrize("has_state", [True, False])
def test_an_instance_is_restarted(
    quick: Broker, start: Any, tmp_path: Path, has_state: bool
) -> None:
    """With the state that it had, and without, when it is restored from the changelog."""
    before = start("one")
    say(quick, before, "a b a")
    assert counts(quick, before, 3) == {"a": 2, "b": 1}
    before.close()
    if not has_state:
        shutil.rmtree(tmp_path / "one")
    after = start("one")
    after.until(lambda: after.tasks[0] == TASKS)
    say(quick, after, "a b c")
    assert results(quick, after, 6) == {"a": [1, 2, 3], "b": [1, 2], "c": [1]}
    assert after.restored == (0 if has_state else 3)
    after.close()
    assert "state ERROR" not in after.lines


def one_standby(broker: Broker, application: Application) -> None:
    """Configure the group to have one; a classic application sets that for itself."""
    which = ("--entity-type", "groups", "--entity-name", application.name)
    config = "streams.num.standby.replicas=1"
    ran("kafka-configs", broker, "--alter", *which, "--add-config", config)


@pytest.mark.long
def test_standbys(quick: Broker, start: Any) -> None:
    one = start("one")
    one_standby(quick, one)
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


@pytest.mark.parametrize("protocol", [pytest.param("classic", marks=pytest.mark.long), "streams"])
def test_windows_are_counted_exactly_once(quick: Broker, start: Any, protocol: str) -> None:
    """One of two instances is killed with a transaction open; the other has its state."""
    base_ms = int(time.time()) // 10 * 10_000
    one = start("one", "exactly_once_v2", protocol, base_ms)
    one_standby(quick, one)
    two = start("two", "exactly_once_v2", protocol, base_ms)
    one.until(lambda: len(one.tasks[0]) == 2 and one.tasks[0] | two.tasks[0] == TASKS)
    one.until(lambda: len(one.tasks[1] | two.tasks[1]) == 2)
    say(quick, one, "a@0 b@5 a@9 a@10 b@12 a@15 c@31")
    expected = {"a@0": [1, 2], "b@0": [1], "a@10": [1, 2], "b@10": [1], "c@30": [1]}
    assert results(quick, one, 7) == expected
    say(quick, one, "a@1 a@2 a@3 b@4 b@13 c@32 c@33")
    one.kill()
    two.until(lambda: two.tasks[0] == TASKS)
    say(quick, two, "a@4 b@6 d@40")
    expected = {
        "a@0": [1, 2, 3, 4, 5, 6],
        "b@0": [1, 2, 3],
        "a@10": [1, 2],
        "b@10": [1, 2],
        "c@30": [1, 2, 3],
        "d@40": [1],
    }
    assert results(quick, two, 17) == expected
    two.close()
    assert "state ERROR" not in two.lines


@pytest.mark.long
def test_an_application_moves_to_a_streams_group(quick: Broker, start: Any) -> None:
    """Offline: it ends as a classic group, and goes on with its state and offsets as a streams
    group."""
    before = start("one", protocol="classic")
    say(quick, before, "a b a")
    assert results(quick, before, 3) == {"a": [1, 2], "b": [1]}
    before.close()
    state = ("kafka-consumer-groups", quick, "--describe", "--group", before.name, "--state")
    before.until(lambda: "Empty" in ran(*state).output)
    after = start("one")
    after.until(lambda: after.tasks[0] == TASKS)
    say(quick, after, "a b c")
    assert results(quick, after, 6) == {"a": [1, 2, 3], "b": [1, 2], "c": [1]}
    assert ran("kafka-streams-groups", quick, "--list").lines == [after.name]
    after.close()
    assert "state ERROR" not in after.lines
