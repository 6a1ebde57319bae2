"""Share consumers of Apache Kafka's Java client, and its tools for share groups (KIP-932)."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import AcknowledgeType, ShareConsumer

from conformance.conftest import NewBroker
from conformance.harness.broker import Broker
from conformance.harness.java_program import program_command
from conformance.harness.process import dying_with_parent
from conformance.harness.tools import run_tool
from conformance.scenarios.test_java_tools import ran
from kafkalite.config.choices import STATES_NOWHERE

PROGRAM = Path(__file__).parent.parent / "harness" / "ShareScenario.java"
# A heartbeat tells a member that its partitions are ready; it should not take five seconds here.
QUICK = {
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.heartbeat.interval.ms": "500",
    "group.share.assignment.interval.ms": "0",
    "group.share.delivery.count.limit": "3",
}


# Shorter than what the scenarios "keep" and "late" take.
SHORT_LOCKS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": "2000",
}


@pytest.fixture
def quick(new_broker: NewBroker) -> Broker:
    return new_broker(QUICK)


def from_the_start(broker: Broker, group: str) -> None:
    which = ("--entity-type", "groups", "--entity-name", group)
    ran(
        "kafka-configs",
        broker,
        "--alter",
        *which,
        "--add-config",
        "share.auto.offset.reset=earliest",
    )


def topic_of(broker: Broker, name: str, *values: str) -> str:
    ran("kafka-topics", broker, "--create", "--topic", name, "--partitions", "1")
    ran("kafka-console-producer", broker, "--topic", name, given="\n".join(values) + "\n")
    return name


def member(broker: Broker, topic: str, group: str, scenario: str, wanted: int) -> dict[str, str]:
    """The report of a member that goes on until it has accepted so many records."""
    answer = subprocess.run(
        dying_with_parent(
            [
                *program_command(PROGRAM, "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"),
                *(broker.bootstrap, topic, group, scenario, str(wanted)),
            ]
        ),
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = (line.partition(" ") for line in answer.stdout.splitlines())
    return {name: rest for name, _, rest in lines}


def numbers(count: int) -> list[str]:
    return [f"v{number}" for number in range(count)]


@pytest.mark.parametrize(
    "scenario", ["implicit", pytest.param("explicit", marks=pytest.mark.long), "release", "renew"]
)
def test_every_record_is_accepted_once(quick: Broker, unique: Any, scenario: str) -> None:
    topic, group = topic_of(quick, unique("topic"), *numbers(20)), unique("group")
    from_the_start(quick, group)
    seen = member(quick, topic, group, scenario, 20)
    assert sorted(seen["accepted"].split(",")) == sorted(numbers(20))
    assert "error" not in seen
    if scenario == "release":
        assert "1=2" in seen["deliveries"]
        assert "2=1" in seen["deliveries"]


@pytest.mark.parametrize(
    ("scenario", "count"), [pytest.param("keep", 1, marks=pytest.mark.long), ("late", 2)]
)
def test_a_lock_lasts_as_long_as_it_is_renewed(
    new_broker: NewBroker, unique: Any, scenario: str, count: int
) -> None:
    """A member has its records for longer than a lock, and says so in time or not."""
    broker = new_broker(QUICK | SHORT_LOCKS)
    topic, group = topic_of(broker, unique("topic"), *numbers(10)), unique("group")
    from_the_start(broker, group)
    seen = member(broker, topic, group, scenario, 10)
    assert sorted(seen["accepted"].split(",")) == sorted(numbers(10))
    assert seen["counts"] == "{" + ", ".join(f"{offset}={count}" for offset in range(10)) + "}"
    assert ("InvalidRecordState" in seen.get("error", "")) == (scenario == "late")


def test_rejected_records_do_not_come_back(quick: Broker, unique: Any) -> None:
    topic, group = topic_of(quick, unique("topic"), *numbers(10)), unique("group")
    from_the_start(quick, group)
    seen = member(quick, topic, group, "reject", 5)
    assert sorted(seen["accepted"].split(",")) == ["v0", "v2", "v4", "v6", "v8"]
    ran("kafka-console-producer", quick, "--topic", topic, given="last\n")
    again = member(quick, topic, group, "explicit", 1)
    assert again["accepted"] == "last"


def test_a_poison_record_is_given_up(quick: Broker, unique: Any) -> None:
    topic, group = topic_of(quick, unique("topic"), "poison"), unique("group")
    from_the_start(quick, group)
    ran("kafka-console-producer", quick, "--topic", topic, given="good\n")
    seen = member(quick, topic, group, "poison", 1)
    assert seen["accepted"] == "good"
    assert seen["deliveries"] == "{0=3, 1=1}", "as often as the limit says"
    ran("kafka-console-producer", quick, "--topic", topic, given="after\n")
    assert member(quick, topic, group, "explicit", 1)["accepted"] == "after"


def test_no_more_than_asked_for(quick: Broker, unique: Any) -> None:
    topic, group = topic_of(quick, unique("topic"), *numbers(50)), unique("group")
    from_the_start(quick, group)
    seen = member(quick, topic, group, "limited", 50)
    assert sorted(seen["accepted"].split(",")) == sorted(numbers(50))
    assert int(seen["largest"]) <= 10


def test_accepted_records_stay_away_after_a_kill(quick: Broker, unique: Any) -> None:
    topic, group = topic_of(quick, unique("topic"), *numbers(20)), unique("group")
    from_the_start(quick, group)
    member(quick, topic, group, "explicit", 20)
    quick.kill()
    quick.start()
    ran("kafka-console-producer", quick, "--topic", topic, given="after\n")
    assert member(quick, topic, group, "explicit", 1)["accepted"] == "after"


def test_what_is_kept_nowhere_comes_again_after_a_restart(
    new_broker: NewBroker, unique: Any
) -> None:
    broker = new_broker(QUICK | {"group.share.persister.class.name": STATES_NOWHERE[0]})
    topic, group = topic_of(broker, unique("topic"), *numbers(20)), unique("group")
    from_the_start(broker, group)
    for _ in range(2):
        seen = member(broker, topic, group, "explicit", 20)
        assert sorted(seen["accepted"].split(",")) == sorted(numbers(20))
        broker.restart()
    assert not list(broker.data_dir.glob("__share_group_state-*"))


@pytest.mark.long
def test_the_consoles_consumer(quick: Broker, unique: Any) -> None:
    topic, group = topic_of(quick, unique("topic"), *numbers(20)), unique("group")
    from_the_start(quick, group)
    printed = ran(
        *("kafka-console-share-consumer", quick, "--topic", topic, "--group", group),
        *("--max-messages", "20", "--timeout-ms", "20000"),
    )
    assert sorted(printed.lines) == sorted(numbers(20))
    groups = ("kafka-share-groups", quick)
    assert ran(*groups, "--list").lines == [group]
    described = ran(*groups, "--describe", "--group", group).output
    assert topic in described
    members = ran(*groups, "--describe", "--group", group, "--members")
    assert "no active members" in members.output + members.errors
    state = ran(*groups, "--describe", "--group", group, "--state").output
    assert "Empty" in state
    to_start = ("--reset-offsets", "--topic", topic, "--to-earliest", "--execute")
    ran(*groups, "--group", group, *to_start)
    again = ran(
        *("kafka-console-share-consumer", quick, "--topic", topic, "--group", group),
        *("--max-messages", "20", "--timeout-ms", "20000"),
    )
    assert sorted(again.lines) == sorted(numbers(20))
    ran(*groups, "--delete-offsets", "--topic", topic, "--group", group)
    ran(*groups, "--delete", "--group", group)
    assert ran(*groups, "--list").lines == []


@pytest.mark.long
@pytest.mark.parametrize("mode", ["auto", "sync", "async"])
def test_the_verifiable_consumer(quick: Broker, unique: Any, mode: str) -> None:
    topic, group = topic_of(quick, unique("topic"), *numbers(100)), unique("group")
    answer = run_tool(
        *("kafka-verifiable-share-consumer", "--bootstrap-server", quick.bootstrap),
        *("--topic", topic, "--group-id", group, "--acknowledgement-mode", mode),
        *("--max-messages", "100", "--offset-reset-strategy", "earliest"),
    )
    events = [json.loads(line) for line in answer.lines if line.startswith("{")]
    acknowledged = sum(
        event["count"] for event in events if event["name"] == "offsets_acknowledged"
    )
    consumed = sum(event["count"] for event in events if event["name"] == "records_consumed")
    assert (consumed, acknowledged) == (100, 100), answer


def test_librdkafka(quick: Broker, unique: Any) -> None:
    """Two consumers of librdkafka share a topic: each record is accepted once, but for those that
    were released."""
    topic, group = topic_of(quick, unique("topic"), *numbers(40)), unique("group")
    from_the_start(quick, group)
    settings = {
        "bootstrap.servers": quick.bootstrap,
        "group.id": group,
        "share.acknowledgement.mode": "explicit",
        "log_level": 0,
    }
    deliveries: Counter[int] = Counter()
    accepted: list[int] = []
    deadline = time.monotonic() + 60
    with ShareConsumer(settings) as one, ShareConsumer(settings) as other:
        for consumer in (one, other):
            consumer.subscribe([topic])
        while len(accepted) < 40:
            assert time.monotonic() < deadline, deliveries
            for consumer in (one, other):
                accepted += taken(consumer, deliveries)
    assert sorted(accepted) == list(range(40))
    assert deliveries == {offset: 1 + (offset % 10 == 0) for offset in range(40)}


def taken(consumer: ShareConsumer, deliveries: Counter[int]) -> list[int]:
    """The offsets that were accepted, and that this was confirmed; each tenth only at its second
    delivery."""
    accepted = []
    for message in consumer.poll(0.5):
        assert message.error() is None, message.error()
        offset = message.offset()
        deliveries[offset] += 1
        if offset % 10 == 0 and deliveries[offset] == 1:
            consumer.acknowledge(message, AcknowledgeType.RELEASE)
        else:
            consumer.acknowledge(message, AcknowledgeType.ACCEPT)
            accepted.append(offset)
    answer = consumer.commit_sync(30.0)
    assert not [error for error in answer.values() if error is not None], answer
    return accepted
