"""`kafkalite topics` and `kafkalite topic show`."""

from __future__ import annotations

import kafkalite.testing
from tests.kafkalite.terminal.conftest import Run


def test_the_list(run: Run, kafka: kafkalite.testing.broker, topic: str) -> None:
    kafka.produce(topic, "x", count=3)
    kafka.produce(topic, "x", partition=1, count=2)
    kafka.lose(topic, to=1)
    ran = run("topics")
    assert ran.lines[0] == ["TOPIC", "PARTITIONS", "REPLICAS", "RECORDS"]
    assert [topic, "2", "1", "4"] in ran.lines
    row = {"topic": topic, "partitions": 2, "replicas": 1, "internal": False, "records": 4}
    assert row in run("topics", "--json").json


def test_topics_of_kafka_itself_are_shown_when_asked_for(run: Run) -> None:
    run("tail", "--help")
    with kafkalite.testing.broker(profile="test") as broker:
        assert run("topics", "--json", "-b", broker.bootstrap).json == []
        broker.create_topic("t")
        broker.seed({"groups": [{"id": "g", "offsets": {"t": {0: 0}}}]})
        names = [row["topic"] for row in run("topics", "-b", broker.bootstrap, "--json").json]
        assert names == ["t"]
        shown = run("topics", "-b", broker.bootstrap, "--internal", "--json").json
        assert [row["topic"] for row in shown if row["internal"]] == ["__consumer_offsets"]


def test_one_in_full(run: Run, kafka: kafkalite.testing.broker, topic: str) -> None:
    kafka.create_topic(f"{topic}-2", partitions=2, configs={"retention.ms": 5000})
    kafka.produce(f"{topic}-2", "x", partition=1, count=2)
    shown = run("topic", "show", f"{topic}-2", "--json").json
    assert shown["records"] == 2
    assert shown["configs"] == {"retention.ms": "5000"}
    assert shown["partitions"][1] == {
        "partition": 1,
        "leader": 1,
        "replicas": [1],
        "isr": [1],
        "start": 0,
        "end": 2,
        "records": 2,
    }
    lines = run("topic", "show", "-t", f"{topic}-2").lines
    assert ["topic", f"{topic}-2"] in lines
    assert ["configs", "retention.ms=5000"] in lines
    assert ["1", "1", "1", "1", "0", "2", "2"] in lines
