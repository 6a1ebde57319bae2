"""Several processes under Apache Kafka's controllers: one of its brokers, two of kafkalite's.

Partitions go from one kind to the other and back while a producer writes. Kafka's own tools work
with every kind. Brokers are killed, and what was acknowledged is counted. The nodes of the mixed
cluster reach each other by TLS and SASL only.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource

from conformance.cluster_crash import PROPERTIES, TOPIC, differing_replicas, run
from conformance.cluster_outcome import PARTITIONS
from conformance.harness.quorum import QuorumCluster
from conformance.harness.replica_verification import differing_dumps, verified_partitions
from conformance.harness.tools import run_tool

SECONDS = 60
CRASH_SECONDS = 20  # of each kind of cluster
KAFKA, FIRST, SECOND = 1, 11, 12
HEAVY = 50  # records of 100 kB

pytestmark = pytest.mark.xdist_group("cluster")


class MixedCluster(QuorumCluster):
    """One of kafkalite's brokers has its directory from Apache Kafka's own tool."""

    def is_formatted_by_kafka(self, node_id: int) -> bool:
        return node_id == SECOND or super().is_formatted_by_kafka(node_id)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuorumCluster]:
    cluster = MixedCluster(
        tmp_path_factory.mktemp("mixed"),
        kafka=1,
        kafkalite=2,
        properties=PROPERTIES,
        secured=True,
    )
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def all_kafkalite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuorumCluster]:
    cluster = QuorumCluster(
        tmp_path_factory.mktemp("ours"), kafkalite=3, properties=PROPERTIES, linked=True
    )
    yield cluster
    cluster.close()


def admin_of(cluster: QuorumCluster) -> AdminClient:
    return AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})


def address(cluster: QuorumCluster, node_id: int) -> str:
    return f"127.0.0.1:{cluster.brokers[node_id]}"


def create(cluster: QuorumCluster, name: str, assignment: list[list[int]]) -> None:
    """By kafkalite's broker, which only forwards it."""
    created = run_tool(
        *("kafka-topics", "--bootstrap-server", address(cluster, FIRST), "--create"),
        *("--topic", name, "--config", "min.insync.replicas=1"),
        *("--replica-assignment", ",".join(":".join(map(str, each)) for each in assignment)),
    )
    assert created.status == 0, created.errors


def read(cluster: QuorumCluster, topic: str, count: int) -> list[bytes | None]:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "none"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = [message.value() for message in consumer.consume(count, SECONDS)]
    consumer.close()
    return found


def test_controllers_and_brokers_of_apache_kafka_know_ours(mixed: QuorumCluster) -> None:
    for node_id in (KAFKA, FIRST):
        versions = run_tool(
            "kafka-broker-api-versions", "--bootstrap-server", address(mixed, node_id)
        )
        for each in mixed.brokers:
            assert f"(id: {each} rack: null isFenced: false)" in versions.output
    quorum = run_tool(
        *("kafka-metadata-quorum", "--bootstrap-server", address(mixed, FIRST)),
        *("describe", "--replication"),
    )
    observers = {line.split()[0] for line in quorum.lines if line.rstrip().endswith("Observer")}
    assert observers == {str(each) for each in mixed.brokers}
    listed = run_tool(
        *("kafka-cluster", "list-endpoints", "--bootstrap-server", address(mixed, KAFKA))
    )
    assert {line.split()[0] for line in listed.lines[1:]} == {str(each) for each in mixed.brokers}
    features = run_tool("kafka-features", "--bootstrap-server", address(mixed, SECOND), "describe")
    assert "metadata.version" in features.output


@pytest.mark.parametrize(
    "replicas", [[FIRST, KAFKA, SECOND], [KAFKA, FIRST, SECOND], [SECOND, FIRST, KAFKA]]
)
def test_whoever_leads_the_others_follow(mixed: QuorumCluster, replicas: list[int]) -> None:
    name = f"led-by-{replicas[0]}"
    create(mixed, name, [replicas])
    producer = Producer({"bootstrap.servers": mixed.bootstrap, "acks": "all"})
    for number in range(500):
        producer.produce(name, b"%d" % number)
    assert producer.flush(SECONDS) == 0
    assert read(mixed, name, 500) == [b"%d" % number for number in range(500)]
    assert under_replicated(mixed, replicas[1], name) == []


def under_replicated(cluster: QuorumCluster, asked: int, topic: str) -> list[str]:
    """The topic's partitions that kafka-topics tells of, by one broker."""
    told = run_tool(
        *("kafka-topics", "--bootstrap-server", address(cluster, asked)),
        *("--describe", "--topic", topic, "--under-replicated-partitions"),
    )
    assert told.status == 0, told.errors
    return told.lines


def test_a_partition_moves_to_apache_kafka_and_back_under_load(
    mixed: QuorumCluster, tmp_path: Path
) -> None:
    """The first move is throttled: both sides are kafkalite's, and the tool clears what it set."""
    create(mixed, "moving", [[FIRST]])
    producer = Producer(
        {"bootstrap.servers": mixed.bootstrap, "acks": "all", "enable.idempotence": True}
    )
    for _ in range(HEAVY):
        producer.produce("moving", bytes(100_000))
    assert producer.flush(SECONDS) == 0
    stopping, count = threading.Event(), 0

    def write() -> None:
        nonlocal count
        while not stopping.wait(0.002):
            producer.produce("moving", b"%d" % count)
            producer.poll(0)
            count += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        hold_back(mixed, tmp_path, "moving", SECOND)
        assert len(throttles(mixed, "moving")) == 2
        move(mixed, tmp_path, "moving", SECOND, "--additional", "--throttle", "100000000")
        deadline = time.monotonic() + SECONDS
        while throttles(mixed, "moving"):  # a broker hears of it a little later
            assert time.monotonic() < deadline
        for target in (KAFKA, FIRST):
            move(mixed, tmp_path, "moving", target)
    finally:
        stopping.set()
        writer.join()
    assert producer.flush(SECONDS) == 0
    found = read(mixed, "moving", HEAVY + count)[HEAVY:]
    assert found == [b"%d" % number for number in range(count)]


def hold_back(cluster: QuorumCluster, directory: Path, topic: str, target: int) -> None:
    """Begin a move of 5 MB, of which one Fetch brings 1 MB: it takes more than a minute."""
    common = plan(cluster, directory, topic, target)
    run_tool("kafka-reassign-partitions", *common, "--execute", "--throttle", "50000")
    looked = run_tool("kafka-reassign-partitions", *common, "--verify")
    assert "is still in progress" in looked.output


def throttles(cluster: QuorumCluster, topic: str) -> set[str]:
    """The topic's lists of throttled replicas."""
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
    admin = admin_of(cluster)
    described = admin.describe_configs([resource])[resource].result(SECONDS)
    return {name for name, entry in described.items() if "throttled" in name and entry.value}


def plan(cluster: QuorumCluster, directory: Path, topic: str, target: int) -> tuple[str, ...]:
    """Flags of the tool for a plan that has the topic's partition at one broker."""
    moves = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": [target]}]}
    file = directory / "plan.json"
    file.write_text(json.dumps(moves))
    return "--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", str(file)


def move(cluster: QuorumCluster, directory: Path, topic: str, target: int, *more: str) -> None:
    """`more`: flags of the tool that executes the plan."""
    common = plan(cluster, directory, topic, target)
    started = run_tool("kafka-reassign-partitions", *common, "--execute", *more)
    assert started.status == 0, started.output
    deadline = time.monotonic() + SECONDS
    while True:
        done = run_tool("kafka-reassign-partitions", *common, "--verify")
        if "is completed" in done.output or "is complete." in done.output:
            break
        assert time.monotonic() < deadline, done.output
        time.sleep(0.05)
    partition = admin_of(cluster).list_topics(topic, SECONDS).topics[topic].partitions[0]
    assert (partition.leader, partition.replicas) == (target, [target])


def test_the_preferred_leader_is_elected(mixed: QuorumCluster) -> None:
    create(mixed, "preferred", [[FIRST, KAFKA]])
    assert mixed.stop(FIRST) == 0
    (late,) = under_replicated(mixed, SECOND, "preferred")
    assert f"Leader: {KAFKA}\tReplicas: {FIRST},{KAFKA}\tIsr: {KAFKA}\t" in late
    mixed.start(FIRST)
    mixed.wait([FIRST])
    wait_for_isr(mixed, "preferred", 2)
    run_tool(
        *("kafka-leader-election", "--bootstrap-server", address(mixed, FIRST)),
        *("--election-type", "preferred", "--topic", "preferred", "--partition", "0"),
    )
    partition = admin_of(mixed).list_topics("preferred", SECONDS).topics["preferred"].partitions[0]
    assert partition.leader == FIRST


def wait_for_isr(cluster: QuorumCluster, topic: str, count: int) -> None:
    for _ in range(SECONDS * 4):
        partition = admin_of(cluster).list_topics(topic, SECONDS).topics[topic].partitions[0]
        if len(partition.isrs) == count:
            return
    raise AssertionError(f"{partition.isrs} are in sync")


def test_log_directories_are_told(mixed: QuorumCluster) -> None:
    create(mixed, "lying", [[FIRST, SECOND]])
    shown = run_tool(
        *("kafka-log-dirs", "--bootstrap-server", address(mixed, KAFKA), "--describe"),
        *("--topic-list", "lying"),
    )
    brokers = json.loads(shown.lines[-1])["brokers"]
    holding = {
        broker["broker"]
        for broker in brokers
        for directory in broker["logDirs"]
        if any(each["partition"] == "lying-0" for each in directory["partitions"])
    }
    assert holding == {FIRST, SECOND}


def test_a_group_of_one_replica_is_coordinated_here(mixed: QuorumCluster) -> None:
    create(mixed, "grouped", [[FIRST, SECOND]])
    producer = Producer({"bootstrap.servers": mixed.bootstrap})
    producer.produce("grouped", b"v")
    producer.flush(SECONDS)
    for number in range(6):  # of four partitions, some are led here
        consumer = Consumer(
            {
                "bootstrap.servers": mixed.bootstrap,
                "group.id": f"g{number}",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe(["grouped"])
        (message,) = consumer.consume(1, SECONDS)
        assert message.value() == b"v"
        consumer.commit(asynchronous=False)
        consumer.close()


@pytest.mark.parametrize(
    ("kind", "seed", "first"),
    [("mixed", 1, "kill"), pytest.param("all_kafkalite", 9, "part", marks=pytest.mark.long)],
)
def test_nothing_acknowledged_is_lost(
    kind: str, seed: int, first: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The other faults are of the same kinds, and as many as there is time for."""
    cluster: QuorumCluster = request.getfixturevalue(kind)
    outcome = run(cluster, CRASH_SECONDS, seed, say=lambda _: None)
    assert outcome.faults[0].split()[0] == first
    assert len(outcome.acknowledged) > 1000
    assert (outcome.errors, outcome.lost) == ([], [])
    assert (outcome.duplicate_count, outcome.disorder_count) == (0, 0)
    assert verified_partitions(cluster, TOPIC, tmp_path) == PARTITIONS
    for node_id in cluster.brokers:
        cluster.stop(node_id)
    assert differing_replicas(cluster) == []
    assert differing_dumps(cluster, TOPIC, PARTITIONS) == []
