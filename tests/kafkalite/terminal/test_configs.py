"""`kafkalite configs`."""

from __future__ import annotations

from typing import Any

import click
import pytest

import kafkalite.testing
from kafkalite.terminal import configs as words
from kafkalite.terminal.configs import pairs
from tests.kafkalite.terminal.conftest import Ran, Run


def configs(ran: Ran) -> dict[str, str]:
    """The names and values, of `--json`."""
    assert ran.code == 0, ran.error
    return {each["name"]: each["value"] for each in ran.json}


def test_a_topics(run: Run, kafka: kafkalite.testing.broker, topic: str) -> None:
    of_topic = ("configs", "--topic", topic)
    assert configs(run(*of_topic, "--json")) == {}
    added = "retention.ms=5000,cleanup.policy=[compact,delete]"
    assert configs(run(*of_topic, "--add-config", added, "--json")) == {
        "cleanup.policy": "compact,delete",
        "retention.ms": "5000",
    }
    assert kafka.topic(topic).configs["retention.ms"] == "5000"
    assert run(*of_topic, "--delete-config", "retention.ms").lines == [
        ["NAME", "VALUE", "SOURCE"],
        ["cleanup.policy", "compact,delete", "DYNAMIC_TOPIC_CONFIG"],
    ]
    everything = configs(run("configs", "-t", topic, "--all", "--json"))
    assert everything["retention.ms"] == "-1", "as in the profile test"
    assert len(everything) > 20


def test_a_refusal_changes_nothing(run: Run, topic: str) -> None:
    ran = run("configs", "--topic", topic, "--add-config", "retention.ms=soon")
    assert ran.code == 1
    assert "Invalid value soon for configuration retention.ms" in ran.error
    assert configs(run("configs", "--topic", topic, "--json")) == {}


def test_a_brokers_and_a_groups(run: Run) -> None:
    changed = run("configs", "--broker", "1", "--add-config", "log.cleaner.threads=2", "--json")
    assert configs(changed)["log.cleaner.threads"] == "2"
    assert configs(changed)["node.id"] == "1"
    run("configs", "--broker", "1", "--delete-config", "log.cleaner.threads")
    interval = "consumer.heartbeat.interval.ms"
    shown = run("configs", "--group", "g", "--add-config", f"{interval}=6000", "--json")
    assert configs(shown) == {interval: "6000"}


@pytest.mark.parametrize("at_once", [1, 100])
def test_of_everything(
    run: Run,
    kafka: kafkalite.testing.broker,
    topic: str,
    at_once: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(words, "_AT_ONCE", at_once)
    kafka.create_topic(f"{topic}-too", configs={"retention.ms": 6000})
    run("configs", "--topic", topic, "--add-config", "retention.ms=5000")
    rows: list[dict[str, Any]] = run("configs", "--json").json
    of_topics = [
        (each["entity_name"], each["value"]) for each in rows if topic in each["entity_name"]
    ]
    assert of_topics == [(topic, "5000"), (f"{topic}-too", "6000")]
    assert {"entity_type": "topic", "entity_name": topic, "name": "retention.ms"}.items() <= next(
        each for each in rows if each["entity_name"] == topic
    ).items()
    assert {each["entity_type"] for each in rows} == {"broker", "topic"}
    assert run("configs").lines[0][:2] == ["ENTITY-TYPE", "ENTITY-NAME"]


def test_a_secret_is_not_shown(run: Run) -> None:
    with kafkalite.testing.broker(sasl="plain:alice:geheim") as broker:
        said = [
            word
            for name, value in broker.client_settings["librdkafka"].items()
            for word in ("-X", f"{name}={value}")
        ]
        ran = run("configs", "--broker", "1", "--all", "-b", broker.bootstrap, *said)
    assert ran.code == 0, ran.error
    assert "(sensitive)" in ran.out
    assert "geheim" not in ran.out


def test_pairs_as_kafka_configs_reads_them() -> None:
    assert pairs("a=1,b=[2,3],c=,d=x=y") == [("a", "1"), ("b", "2,3"), ("c", ""), ("d", "x=y")]
    for wrong in ("a", "=1", "a=1,b", "a=[1"):
        with pytest.raises(click.UsageError, match="NAME=VALUE"):
            pairs(wrong)
