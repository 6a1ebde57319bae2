"""A Kafka Streams application over three processes, whose coordinators are killed.

Its group is a streams group (KIP-1071). One coordinator writes what the next reads back, of either
kind. The application counts exactly once: each count of a word is told once, and in order.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.differential.streams_requests import joining, topology
from conformance.harness.members import Requests
from conformance.harness.one_of_many import PROPERTIES
from conformance.harness.quorum import FIRST_KAFKALITE, QuorumCluster
from conformance.scenarios.placed_topics import placed_topic
from conformance.scenarios.streams_application import TASKS, Application
from conformance.scenarios.test_cluster_groups import coordinator_of, wait_for_isr
from conformance.scenarios.test_java_tools import ran
from kafkalite.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafkalite.wire.messages.streams_group_heartbeat import (
    KeyValue,
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TopicInfo,
)

GROUP = "count"
SOURCE, SINK = "said", "counted"
PARTITIONS = 2
SECONDS = 120
T = TypeVar("T")
# The replicas of the group's partition: the first coordinates, and the second when it is killed.
REPLICAS = {"kafkalite": [11, 12, 13], "mixed": [11, 1, 12]}
QUICK = {
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.min.heartbeat.interval.ms": "500",
    "transaction.state.log.min.isr": "2",
}

pytestmark = pytest.mark.xdist_group("cluster")


class Seen(NamedTuple):
    """The group by what its coordinator knows."""

    epoch: int
    member_ids: list[str]


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.mark.long
@pytest.mark.parametrize("kind", ["kafkalite", "mixed"])
def test_a_streams_group_outlives_its_coordinators(
    tmp_path: Path, closing: ExitStack, kind: str
) -> None:
    first, second, _ = replicas = REPLICAS[kind]
    kafka = sum(each < FIRST_KAFKALITE for each in replicas)
    cluster = QuorumCluster(
        tmp_path / "cluster",
        kafka=kafka,
        kafkalite=3 - kafka,
        properties={**PROPERTIES, **QUICK},
    )
    closing.callback(cluster.close)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    offsets = placed_topic("__consumer_offsets", [replicas] * 4, {"cleanup.policy": "compact"})
    mine = [NewTopic(name, PARTITIONS, 3) for name in (SOURCE, SINK)]
    for created in admin.create_topics([offsets, *mine]).values():
        created.result(SECONDS)
    how = ("exactly_once_v2", "streams", "-1")
    application = Application(cluster, GROUP, (SOURCE, SINK), tmp_path / "state", *how)
    closing.callback(application.kill)
    speaker = Speaker(cluster)

    speaker.say("a b a c")
    until(lambda: counted(cluster) == speaker.expected, application)
    until(lambda: application.tasks[0] == TASKS, application)
    for victim, successor in ((first, second), (second, first)):
        before = until(lambda: seen(cluster), application)
        assert coordinator_of(cluster, GROUP) == victim
        cluster.kill(victim)
        speaker.say("a b d")
        until(lambda: counted(cluster) == speaker.expected, application)
        after = until(lambda: seen(cluster), application)
        assert after.member_ids == before.member_ids
        assert after.epoch == before.epoch  # the tasks stay where they are
        assert coordinator_of(cluster, GROUP) == successor
        cluster.start(victim)
        cluster.wait()
        wait_for_isr(admin, 3)
    described = ran("kafka-streams-groups", cluster, "--describe", "--group", GROUP, "--state")
    assert "Stable" in described.output
    application.close()
    assert "state ERROR" not in application.lines
    assert counted(cluster) == speaker.expected


def test_an_internal_topic_that_the_controllers_refuse(tmp_path: Path, closing: ExitStack) -> None:
    """The coordinators of both kinds tell the member of it, in the same words."""
    cluster = QuorumCluster(tmp_path / "cluster", kafka=1, kafkalite=1, properties=PROPERTIES)
    closing.callback(cluster.close)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    offsets = placed_topic("__consumer_offsets", [[1], [11]] * 2, {"cleanup.policy": "compact"})
    for created in admin.create_topics([offsets, NewTopic(SOURCE, PARTITIONS, 1)]).values():
        created.result(SECONDS)
    stores = [
        TopicInfo(name="far", replication_factor=9),
        TopicInfo(name="odd", topic_configs=[KeyValue(key="no.such.config", value="1")]),
    ]
    tasks = Subtopology(subtopology_id="0", source_topics=[SOURCE], state_changelog_topics=stores)
    details: dict[int, str] = {}
    for number in range(100):
        group = f"refused-{number}"
        node_id = coordinator_of(cluster, group)
        if node_id in cluster.brokers and node_id not in details:
            details[node_id] = refusal(
                cluster.brokers[node_id], joining(group, "m", topology(tasks))
            )
    assert set(details) == {1, 11}
    assert "far (" in details[1]
    assert "odd (" in details[1]
    assert parts(details[1]) == parts(details[11])


def refusal(port: int, request: StreamsGroupHeartbeatRequest) -> str:
    """The words that a member is told, once the coordinator knows that the creation failed."""
    deadline = time.monotonic() + SECONDS
    with Requests(f"127.0.0.1:{port}") as connection:
        while True:
            answer = connection.call(request, 0)
            for status in answer.status or ():
                if "failed" in status.status_detail:
                    return str(status.status_detail)
            assert time.monotonic() < deadline, answer
            time.sleep(0.2)


def parts(detail: str) -> list[str]:
    """Its topics, which come out of a hash table at Apache Kafka."""
    return sorted(re.split(r"[:;,] |\), ", detail.removesuffix(".")))


class Speaker:
    """Says words; knows the counts that each is to get."""

    def __init__(self, cluster: QuorumCluster) -> None:
        self.expected: dict[str, list[int]] = defaultdict(list)
        self._producer = Producer(
            {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "log_level": 0}
        )

    def say(self, words: str) -> None:
        for number, word in enumerate(words.split()):
            self._producer.produce(SOURCE, word, partition=number % PARTITIONS)
            self.expected[word].append(len(self.expected[word]) + 1)
        assert self._producer.flush(SECONDS) == 0


def until(look: Callable[[], T], application: Application) -> T:
    """Look again and again until there is something."""
    deadline = time.monotonic() + SECONDS
    while not (found := look()):
        assert time.monotonic() < deadline, "\n".join(application.lines)
        time.sleep(0.2)
    return found


def counted(cluster: QuorumCluster) -> dict[str, list[int]]:
    """All that was told of each word up to now, in order."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "none",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(SINK, each, 0) for each in range(PARTITIONS)])
    found: dict[str, list[int]] = defaultdict(list)
    read: set[int] = set()
    while len(read) < PARTITIONS:
        message = consumer.poll(SECONDS)
        assert message is not None
        key, value, partition = message.key(), message.value(), message.partition()
        if message.error() is not None:
            read |= set() if partition is None else {partition}
        else:
            assert isinstance(key, bytes)
            assert value is not None
            found[key.decode()].append(int(value))
    consumer.close()
    return found


def seen(cluster: QuorumCluster) -> Seen | None:
    """The group, unless its coordinator cannot say now, or it is not stable."""
    port = cluster.brokers.get(coordinator_of(cluster, GROUP))
    request = StreamsGroupDescribeRequest(group_ids=[GROUP])
    with suppress(OSError), Requests(f"127.0.0.1:{port}") as connection:
        (group,) = connection.call(request, 0).groups
        if not group.error_code and group.group_state == "Stable":
            return Seen(group.group_epoch, [each.member_id for each in group.members])
    return None
