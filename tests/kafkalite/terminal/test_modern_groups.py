"""Share groups, groups of Kafka Streams, and states that librdkafka has no name for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

import kafkalite.testing
from kafkalite.terminal.connection import Connection
from kafkalite.terminal.groups import group_names
from kafkalite.terminal.kafka import Kafka
from kafkalite.terminal.target import Target
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    ShareFetchRequest,
)
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    Topology,
)
from tests.kafkalite.terminal.conftest import Run

SECONDS = 60
ACCEPT = 1
EARLIEST = "share.auto.offset.reset=earliest"


@pytest.fixture
def connection(kafka: kafkalite.testing.broker) -> Iterator[Connection]:
    host, _, port = kafka.bootstrap.rpartition(":")
    with closing(Connection(host, int(port), {})) as connection:
        assert connection.ask(FindCoordinatorRequest(coordinator_keys=["any"])).coordinators
        yield connection


def asked(connection: Connection, body: object) -> Any:
    answer = connection.ask(body)
    assert answer.error_code == 0, answer
    return answer


def join_share_group(connection: Connection, group: str, topic: str) -> None:
    """Until the member has the partitions of the topic: their state is made first."""
    epoch, deadline = 0, time.monotonic() + SECONDS
    while True:
        beat = ShareGroupHeartbeatRequest(group, "m-1", epoch, None, [topic])
        answer = asked(connection, beat)
        if answer.assignment is not None and answer.assignment.topic_partitions:
            return
        assert time.monotonic() < deadline
        epoch = answer.member_epoch
        time.sleep(0.02)


def reading(group: str, epoch: int, topics: list[FetchTopic]) -> ShareFetchRequest:
    return ShareFetchRequest(
        group,
        "m-1",
        epoch,
        max_wait_ms=500,
        min_bytes=1,
        max_records=9,
        batch_size=9,
        topics=topics,
    )


def test_a_share_group(
    run: Run, kafka: kafkalite.testing.broker, topic: str, connection: Connection
) -> None:
    kafka.produce(topic, "x", count=5)
    group = f"share-of-{topic}"
    configured = run("configs", "--group", group, "--add-config", EARLIEST)
    assert configured.code == 0
    join_share_group(connection, group, topic)
    unread = run("group", "show", group, "--json").json["partitions"]
    assert [(each["start"], each["lag"]) for each in unread] == [(None, None)] * 2
    topic_id = kafka.topic_id(topic)
    done = [AcknowledgementBatch(first_offset=0, last_offset=1, acknowledge_types=[ACCEPT])]
    for epoch, acknowledged in enumerate(([], done)):
        fetched = FetchPartition(partition_index=0, acknowledgement_batches=acknowledged)
        topics = [FetchTopic(topic_id=topic_id, partitions=[fetched])]
        asked(connection, reading(group, epoch, topics))
    shown = run("group", "show", group, "--json").json
    [member] = shown["members"]
    assert member["assigned"] == [f"{topic}-0", f"{topic}-1"]
    assert (member["member"], member["client_id"]) == ("m-1", "kafkalite-terminal")
    assert (shown["type"], shown["state"], shown["coordinator"]) == ("share", "Stable", 1)
    assert [(each["start"], each["lag"]) for each in shown["partitions"]] == [
        (0, 3),
        (None, None),
    ]
    lines = run("group", "show", group).lines
    assert ["m-1", "kafkalite-terminal", "127.0.0.1", f"{topic}-0,{topic}-1"] in lines
    assert [topic, "0", "0", "5", "3"] in lines
    assert [topic, "0", "0", "5", "3"] in run("lag", group).lines
    assert [group, "share", "Stable", "1", "1"] in run("groups").lines
    assert [group, "Stable", "1", "2", "3"] in run("lag").lines
    assert group in group_names(Kafka(Target(kafka.bootstrap)))
    missing = run("group", "show", f"{group}x")
    assert (missing.code, f"did you mean {group!r}?" in missing.error) == (1, True)


def test_a_group_of_kafka_streams(
    run: Run, kafka: kafkalite.testing.broker, topic: str, connection: Connection
) -> None:
    kafka.produce(topic, "x", count=5)
    group = f"streams-of-{topic}"
    joined = asked(
        connection,
        StreamsGroupHeartbeatRequest(
            group,
            "m-1",
            0,
            rebalance_timeout_ms=60_000,
            topology=Topology(1, [Subtopology("0", [topic])]),
            active_tasks=[],
            standby_tasks=[],
            warmup_tasks=[],
            process_id="p",
        ),
    )
    tasks = joined.active_tasks
    assert [each.partitions for each in tasks] == [[0, 1]]
    has = StreamsGroupHeartbeatRequest(
        group, "m-1", joined.member_epoch, active_tasks=tasks, standby_tasks=[], warmup_tasks=[]
    )
    asked(connection, has)
    shown = run("group", "show", group, "--json").json
    assert shown["members"][0]["assigned"] == ["0_0", "0_1"]
    assert [(each["end"], each["member"]) for each in shown["partitions"]] == [
        (5, "m-1"),
        (0, "m-1"),
    ]
    assert [group, "streams", "Stable", "1", "1"] in run("groups").lines
    assert [group, "Stable", "1", "2", "-"] in run("lag").lines


def reconcile(connection: Connection, group: str, topic: str) -> None:
    """The first of two members has not given up what the second is to have."""
    for member_id in ("m-1", "m-2"):
        joining: dict[str, Any] = {"rebalance_timeout_ms": 60_000, "topic_partitions": []}
        asked(
            connection,
            ConsumerGroupHeartbeatRequest(
                group, member_id, 0, subscribed_topic_names=[topic], **joining
            ),
        )


def test_a_state_that_librdkafka_has_no_name_for(
    run: Run, topic: str, connection: Connection
) -> None:
    group = f"consumers-of-{topic}"
    reconcile(connection, group, topic)
    assert run("group", "show", group, "--json").json["state"] == "Reconciling"
    row = [group, "consumer", "Reconciling", "2", "1"]
    assert row in run("groups").lines
    assert row in run("groups", "--state", "reconciling,dead").lines
    assert row not in run("groups", "--state", "assigning,stable").lines
    assert [group, "Reconciling", "2", "2", "-"] in run("lag").lines


def test_a_setting_that_only_librdkafka_knows_leaves_them_out(run: Run) -> None:
    """It is said, and the groups of consumers are shown all the same."""
    with kafkalite.testing.broker(sasl="oauthbearer:alice:x", profile="test") as secured:
        host, _, port = secured.bootstrap.rpartition(":")
        settings = secured.client_settings["librdkafka"]
        secured.create_topic("t")
        secured.seed({"groups": [{"id": "plain-one", "offsets": {"t": {0: 0}}}]})
        with closing(Connection(host, int(port), settings)) as connection:
            connection.ask(FindCoordinatorRequest(coordinator_keys=["left-out"]))
            asked(connection, ShareGroupHeartbeatRequest("left-out", "m-1", 0, None, ["t"]))
            reconcile(connection, "unnamed", "t")
        said = [word for each in settings.items() for word in ("-X", "=".join(each))]
        assert len(run("groups", "-b", secured.bootstrap, *said).lines) == 4
        scoped = "sasl.oauthbearer.config=principal=alice scope=all"
        told, assigning, stable, shown = (
            run(*words, "-b", secured.bootstrap, *said, "-X", scoped)
            for words in (
                ("groups",),
                ("groups", "--state", "assigning"),
                ("groups", "--state", "stable"),
                ("group", "show", "unnamed"),
            )
        )
    assert [line[0] for line in told.lines] == ["GROUP", "plain-one", "unnamed"]
    assert [line[0] for line in assigning.lines] == ["GROUP", "unnamed"], "it may be"
    assert stable.lines == [["GROUP", "TYPE", "STATE", "MEMBERS", "COORDINATOR"]]
    assert ["state", "Assigning", "or", "Reconciling"] in shown.lines
    assert "scope of sasl.oauthbearer.config is for librdkafka alone" in told.error
