"""`kafkalite groups` and `kafkalite group show`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer

import kafkalite.testing
from kafkalite.terminal.groups import group_names
from kafkalite.terminal.kafka import Kafka
from kafkalite.terminal.target import Target
from tests.kafkalite.terminal.conftest import Run

SECONDS = 60


@contextmanager
def member(
    kafka: kafkalite.testing.broker, group: str, topic: str, protocol: str
) -> Iterator[Consumer]:
    """A member that has all partitions."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap,
            "group.id": group,
            "client.id": "app",
            "group.protocol": protocol,
        }
    )
    consumer.subscribe([topic])
    deadline = time.monotonic() + SECONDS
    while len(consumer.assignment()) < 2:
        assert time.monotonic() < deadline
        consumer.poll(0.1)
    yield consumer
    consumer.close()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_with_a_member(
    run: Run, kafka: kafkalite.testing.broker, topic: str, protocol: str
) -> None:
    group = f"group-{protocol}"
    kafka.produce(topic, "x", count=5)
    with member(kafka, group, topic, protocol):
        shown = run("group", "show", group, "--json").json
        assert [group, protocol, "Stable", "1", "1"] in run("groups").lines
        lines = run("group", "show", group).lines
    [one] = shown["members"]
    assert (one["client_id"], one["host"]) == ("app", "127.0.0.1")
    assert one["assigned"] == [f"{topic}-0", f"{topic}-1"]
    assert (shown["type"], shown["state"]) == (protocol, "Stable")
    assert [(each["partition"], each["end"]) for each in shown["partitions"]] == [(0, 5), (1, 0)]
    assert {each["member"] for each in shown["partitions"]} == {one["member"]}
    assert ["state", "Stable"] in lines
    assert any(
        line[:2] == [topic, "0"] and line[5:] == ["app", "127.0.0.1", one["member"]]
        for line in lines
    )


def test_a_group_without_members(run: Run, kafka: kafkalite.testing.broker, topic: str) -> None:
    kafka.produce(topic, "x", count=5)
    kafka.seed({"groups": [{"id": "offsets-only", "offsets": {topic: {0: 2}}}]})
    assert ["offsets-only", "classic", "Empty", "0", "1"] in run("groups").lines
    shown = run("group", "show", "offsets-only", "--json").json
    assert shown["members"] == []
    assert shown["partitions"] == [
        {
            "topic": topic,
            "partition": 0,
            "committed": 2,
            "end": 5,
            "lag": 3,
            "client_id": None,
            "host": None,
            "member": None,
        }
    ]
    assert [topic, "0", "2", "5", "3", "-", "-", "-"] in run("group", "show", "offsets-only").lines
    assert "offsets-only" in group_names(Kafka(Target(kafka.bootstrap)))


def test_groups_of_a_type_or_in_a_state(
    run: Run, kafka: kafkalite.testing.broker, topic: str
) -> None:
    kafka.seed({"groups": [{"id": "waiting", "offsets": {topic: {0: 0}}}]})

    def names(*flags: str) -> set[str]:
        return {each["group"] for each in run("groups", "--json", *flags).json}

    with member(kafka, "working", topic, "consumer"):
        assert {"waiting", "working"} <= names()
        assert "working" in names("--type", "consumer")
        assert "waiting" not in names("--type", "consumer")
        assert "working" not in names("--type", "classic,share")
        assert "waiting" in names("--state", "Empty,dead")
        assert names("--state", "stable", "--type", "Consumer") == {"working"}
        assert names("--type", "streams") == set()


def test_offsets_of_a_topic_that_is_gone(
    run: Run, kafka: kafkalite.testing.broker, topic: str
) -> None:
    kafka.seed({"groups": [{"id": "left-over", "offsets": {topic: {0: 0}}}]})
    with kafkalite.testing.broker(profile="test") as other:
        assert run("groups", "-b", other.bootstrap).lines == [
            ["GROUP", "TYPE", "STATE", "MEMBERS", "COORDINATOR"]
        ]
    kafka.delete_topic(topic)
    ran = run("group", "show", "left-over", "--json")
    assert (ran.code, ran.error) == (0, "")
