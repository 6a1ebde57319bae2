"""Work of operators with Apache Kafka's tools, on three nodes."""

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.conftest import starter
from conformance.harness.broker import Broker
from conformance.harness.tool_process import ToolProcess
from conformance.harness.tools import Ran, run_tool

SECONDS = 30


@pytest.fixture(scope="module")
def cluster(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, _living: list[Broker]
) -> Iterator[Broker]:
    start = starter(pytestconfig.getoption("--broker"), tmp_path_factory.mktemp("admin"), _living)
    cluster = start(node_count=3)
    yield cluster
    _living.remove(cluster)
    cluster.stop()


@pytest.fixture(scope="module", autouse=True)
def _tools() -> Iterator[None]:
    """One Java process for all of them: starting one each time takes a second."""
    with ToolProcess() as PROCESS["tools"]:
        yield


PROCESS: dict[str, ToolProcess] = {}


def ran(tool: str, broker: Broker, *arguments: str, status: int = 0) -> Ran:
    found, printed = PROCESS["tools"].run(tool, "--bootstrap-server", broker.bootstrap, *arguments)
    result = Ran(found, printed, "")
    assert result.status == status, result
    return result


def create(cluster: Broker, topic: str, *assignment: str) -> None:
    arguments = ("--create", "--topic", topic, "--replica-assignment", ",".join(assignment))
    ran("kafka-topics", cluster, *arguments)


def replicas_of(cluster: Broker, topic: str) -> list[tuple[str, str]]:
    """(leader, replicas) of each partition."""
    lines = ran("kafka-topics", cluster, "--describe", "--topic", topic).lines[1:]
    fields = [
        dict(part.split(": ", 1) for part in line.split("\t") if ": " in part) for line in lines
    ]
    return [(field["Leader"], field["Replicas"]) for field in fields]


def eventually(cluster: Broker, topic: str, wanted: list[tuple[str, str]]) -> None:
    deadline = time.monotonic() + SECONDS
    while replicas_of(cluster, topic) != wanted:
        assert time.monotonic() < deadline, replicas_of(cluster, topic)


def test_configs_of_a_topic(cluster: Broker, topic: str) -> None:
    create(cluster, topic, "1")
    about = ("--entity-type", "topics", "--entity-name", topic)
    added = ran("kafka-configs", cluster, "--alter", *about, "--add-config", "retention.ms=77000")
    assert f"Completed updating config for topic {topic}." in added.output
    described = ran("kafka-configs", cluster, "--describe", *about)
    assert (
        "retention.ms=77000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=77000}"
        in described.output
    )
    ran("kafka-configs", cluster, "--alter", *about, "--delete-config", "retention.ms")
    described = ran("kafka-configs", cluster, "--describe", *about)
    assert "retention.ms" not in described.output
    everything = ran("kafka-configs", cluster, "--describe", "--all", *about)
    assert "retention.ms=604800000 sensitive=false synonyms={}" in everything.output
    refused = ran(
        *("kafka-configs", cluster, "--alter", *about, "--add-config", "retention.ms=soon"),
        status=1,
    )
    assert "InvalidConfigurationException" in refused.output + refused.errors


def test_configs_of_nodes(cluster: Broker) -> None:
    for about in (("--entity-name", "2"), ("--entity-default",)):
        where = ("--entity-type", "brokers", *about)
        ran("kafka-configs", cluster, "--alter", *where, "--add-config", "log.retention.ms=88000")
        described = ran("kafka-configs", cluster, "--describe", *where)
        assert "log.retention.ms=88000" in described.output
        ran("kafka-configs", cluster, "--alter", *where, "--delete-config", "log.retention.ms")
    described = ran(
        *("kafka-configs", cluster, "--describe", "--all"),
        *("--entity-type", "brokers", "--entity-name", "2"),
    )
    assert "num.network.threads=3" in described.output


def test_quotas_and_credentials(cluster: Broker) -> None:
    about = ("--entity-type", "users", "--entity-name", "ann")
    for config in ("producer_byte_rate=1024", "SCRAM-SHA-256=[password=secret]"):
        ran("kafka-configs", cluster, "--alter", *about, "--add-config", config)
    described = ran("kafka-configs", cluster, "--describe", *about).output
    assert "producer_byte_rate=1024.0" in described
    assert "SCRAM-SHA-256=iterations=4096" in described
    for config in ("producer_byte_rate", "SCRAM-SHA-256"):
        ran("kafka-configs", cluster, "--alter", *about, "--delete-config", config)
    assert "producer_byte_rate" not in ran("kafka-configs", cluster, "--describe", *about).output


def test_loggers(cluster: Broker) -> None:
    about = ("--entity-type", "broker-loggers", "--entity-name", "1")
    ran("kafka-configs", cluster, "--alter", *about, "--add-config", "root=WARN")
    assert "root=WARN" in ran("kafka-configs", cluster, "--describe", *about).output
    ran("kafka-configs", cluster, "--alter", *about, "--add-config", "root=INFO")


def test_requests_in_the_log(cluster: Broker) -> None:
    if cluster.kind != "kafkalite":
        pytest.skip("left out: the reference is run with a logging library without levels")
    about = ("--entity-type", "broker-loggers", "--entity-name", "1")
    change = ("kafka-configs", cluster, "--alter", *about)
    ran(*change, "--add-config", "kafka.request.logger=DEBUG")
    described = ran("kafka-configs", cluster, "--describe", *about).output
    assert "kafka.request.logger=DEBUG" in described
    ran(*change, "--delete-config", "kafka.request.logger")
    assert re.search(r"DEBUG DescribeConfigs v4 by \S+ at 127.0.0.1: ok, \d", cluster.tail())
    seen = cluster.tail().count("DEBUG")
    ran("kafka-configs", cluster, "--describe", *about)
    assert cluster.tail().count("DEBUG") == seen


def test_client_metrics(cluster: Broker) -> None:
    name = ("--name", "subscription")
    ran("kafka-client-metrics", cluster, "--alter", *name, "--interval", "1000", "--metrics", "x.")
    assert "subscription" in ran("kafka-client-metrics", cluster, "--list").output
    described = ran("kafka-client-metrics", cluster, "--describe", *name).output
    assert "interval.ms=1000" in described
    ran("kafka-client-metrics", cluster, "--delete", *name)
    assert "subscription" not in ran("kafka-client-metrics", cluster, "--list").output


def test_records_are_deleted(cluster: Broker, topic: str, tmp_path: Path) -> None:
    create(cluster, topic, "1:2")
    produced = run_tool(
        *("kafka-console-producer", "--bootstrap-server", cluster.bootstrap, "--topic", topic),
        given="a\nb\nc\nd\n",
    )
    assert produced.status == 0, produced
    wish = tmp_path / "offsets.json"
    wish.write_text(
        json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 3}]})
    )
    done = ran("kafka-delete-records", cluster, "--offset-json-file", str(wish))
    assert f"partition: {topic}-0\tlow_watermark: 3" in done.output
    earliest = ran("kafka-get-offsets", cluster, "--topic", topic, "--time", "earliest")
    assert earliest.lines == [f"{topic}:0:3"]


def test_log_directories(cluster: Broker, topic: str) -> None:
    create(cluster, topic, "1:2", "2:3")

    def held() -> dict[int, list[str]]:
        printed = ran("kafka-log-dirs", cluster, "--describe", "--topic-list", topic).lines[-1]
        return {
            node["broker"]: sorted(
                partition["partition"]
                for directory in node["logDirs"]
                for partition in directory["partitions"]
            )
            for node in json.loads(printed)["brokers"]
        }

    wanted = {1: [f"{topic}-0"], 2: [f"{topic}-0", f"{topic}-1"], 3: [f"{topic}-1"]}
    deadline = time.monotonic() + SECONDS
    while held() != wanted:  # Apache Kafka's nodes learn of a topic a little later
        assert time.monotonic() < deadline, held()


def test_partitions_move(cluster: Broker, topic: str, tmp_path: Path) -> None:
    create(cluster, topic, "1:2", "2:3")
    plan = tmp_path / "plan.json"
    moves = [(0, [3, 2]), (1, [1])]
    plan.write_text(
        json.dumps(
            {
                "version": 1,
                "partitions": [
                    {"topic": topic, "partition": index, "replicas": replicas}
                    for index, replicas in moves
                ],
            }
        )
    )
    file = ("--reassignment-json-file", str(plan))
    started = ran("kafka-reassign-partitions", cluster, *file, "--execute")
    assert "Successfully started partition reassignments" in started.output
    deadline = time.monotonic() + SECONDS
    verified = ran("kafka-reassign-partitions", cluster, *file, "--verify")
    while verified.output.count("is completed") < 2 and time.monotonic() < deadline:
        verified = ran("kafka-reassign-partitions", cluster, *file, "--verify")
    assert f"Reassignment of partition {topic}-0 is completed." in verified.output
    assert f"Reassignment of partition {topic}-1 is completed." in verified.output
    eventually(cluster, topic, [("3", "3,2"), ("1", "1")])
    listed = ran("kafka-reassign-partitions", cluster, "--list")
    assert "No partition reassignments found." in listed.output


def test_an_election_that_is_not_needed(cluster: Broker, topic: str) -> None:
    create(cluster, topic, "2:1")
    about = ("--election-type", "preferred", "--topic", topic, "--partition", "0")
    done = ran("kafka-leader-election", cluster, *about)
    assert "Valid replica already elected for partitions" in done.output


def test_features(cluster: Broker) -> None:
    described = ran("kafka-features", cluster, "describe").output
    for feature in ("group.version", "transaction.version", "share.version", "streams.version"):
        assert f"Feature: {feature}" in described
    assert "FinalizedVersionLevel: 4.3-IV0" in described
    changed = ran("kafka-features", cluster, "downgrade", "--feature", "streams.version=0")
    assert "streams.version was downgraded to 0" in changed.output
    changed = ran("kafka-features", cluster, "upgrade", "--feature", "streams.version=1")
    assert "streams.version was upgraded to 1" in changed.output


def test_the_quorum(cluster: Broker) -> None:
    status = ran("kafka-metadata-quorum", cluster, "describe", "--status").output
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    assert int(fields["LeaderEpoch"]) >= 1
    assert int(fields["HighWatermark"]) > 0
    replication = ran("kafka-metadata-quorum", cluster, "describe", "--replication").lines
    assert replication[0].split()[0] == "NodeId"
    assert any("Leader" in line.split() for line in replication[1:])


def test_the_cluster(cluster: Broker) -> None:
    where = ("--bootstrap-server", cluster.bootstrap)
    status, told = PROCESS["tools"].run("kafka-cluster", "cluster-id", *where)
    assert status == 0, told
    assert told.startswith("Cluster ID: ")
    status, listed = PROCESS["tools"].run("kafka-cluster", "list-endpoints", *where)
    assert status == 0, listed
    assert [line.split()[0] for line in listed.splitlines()[1:]] == ["1", "2", "3"]
    versions = ran("kafka-broker-api-versions", cluster)
    assert versions.output.count("(id: ") == 3
    assert ran("kafka-groups", cluster, "--list").output is not None
