"""The output of Kafka's command line tools, from Apache Kafka and from kafkalite.

Every verb of the tools named here is run against both, with the same arguments; what is printed
must be the same, to the letter, but for what the lines below give names to (ids, ports, paths,
times).
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair, wait_for_topic
from conformance.harness.tool_process import ToolProcess
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)

CLIENT_METRICS = 16
Arguments = tuple[str, ...]


@pytest.fixture(scope="module")
def tools() -> Iterator[ToolProcess]:
    with ToolProcess() as process:
        yield process


Compare = Callable[..., str]
# Their options stand before the verb.
GLOBAL_FIRST = ("kafka-features", "kafka-metadata-quorum")


@pytest.fixture
def compare(pair: Pair, tools: ToolProcess) -> Compare:
    """`compare(tool, *arguments)`: run on both; both printed the same, which is returned."""

    def compare(tool: str, *arguments: str, mask: str = "$^", in_any_order: bool = False) -> str:
        seen: list[tuple[int, str]] = []
        for side in (pair.reference, pair.tested):
            where = ("--bootstrap-server", side.broker.bootstrap)
            everything = (*where, *arguments) if tool in GLOBAL_FIRST else (*arguments, *where)
            status, printed = tools.run(tool, *everything)
            side.settle()
            lines = re.sub(mask, "...", plain(side, printed)).splitlines()
            seen.append((status, "\n".join(sorted(lines) if in_any_order else lines)))
        assert seen[1] == seen[0], (tool, arguments)
        return seen[0][1]

    return compare


def plain(side: Side, printed: str) -> str:
    """Names for what differs between any two brokers."""
    port = side.broker.bootstrap.rpartition(":")[2]
    text = printed.replace(str(side.broker.data_dir.absolute()), "DATA").replace(port, "PORT")
    text = re.sub(r"\b(TopicId|Cluster ID): +[\w-]{22}", r"\1: ID", text)
    text = re.sub(r"Expected high watermark \d+", "Expected high watermark N", text)
    text = re.sub(r"\b1[5-9]\d{11}\b", "TIME", text)
    text = re.sub(r"\b[\w-]{36}\b", "UUID", text)
    text = re.sub(r"\bat (java|org|kafka|jdk|scala)[^\n]*\n", "", text)
    return "\n".join(line.rstrip() for line in text.splitlines())


@pytest.fixture
def ready(pair: Pair, topic: str) -> str:
    """A topic of two partitions on both, with three records in the first."""
    pair.create_topic(topic, 2)
    for side in (pair.reference, pair.tested):
        wait_for_topic(side, topic, 2)
    return topic


def test_topics(compare: Compare, topic: str) -> None:
    tool, name = "kafka-topics", ("--topic", topic)
    config = ("--config", "retention.ms=9000", "--config", "cleanup.policy=compact,delete")
    compare(tool, "--create", *name, "--partitions", "2", "--replication-factor", "1", *config)
    compare(tool, "--create", *name)
    compare(tool, "--create", "--if-not-exists", *name)
    compare(tool, "--create", "--topic", f"{topic}-x", "--partitions", "0")
    compare(tool, "--create", "--topic", f"{topic}-x", "--replication-factor", "3")
    compare(tool, "--create", "--topic", f"{topic}-x", "--config", "no.such=1")
    compare(tool, "--create", "--topic", "a b")
    assert "PartitionCount: 2" in compare(tool, "--describe", *name)
    compare(tool, "--alter", *name, "--partitions", "3")
    compare(tool, "--alter", *name, "--partitions", "2")
    compare(tool, "--alter", "--topic", f"{topic}-x", "--partitions", "2")
    compare(tool, "--describe", "--topic", f"{topic}-x")
    assert topic in compare(tool, "--list", *name)
    compare(tool, "--describe", *name, "--topics-with-overrides")
    for which in ("under-replicated", "unavailable", "under-min-isr", "at-min-isr"):
        compare(tool, "--describe", *name, f"--{which}-partitions")
    compare(tool, "--delete", *name)
    compare(tool, "--delete", *name)
    compare(tool, "--delete", "--if-exists", *name)


def test_configs(pair: Pair, compare: Compare, ready: str) -> None:
    tool = "kafka-configs"
    where: tuple[tuple[Arguments, str, str], ...] = (
        (("--entity-type", "topics", "--entity-name", ready), "retention.ms", "77000"),
        (("--entity-type", "topics", "--entity-name", ready), "cleanup.policy", "[compact,delete]"),
        (("--entity-type", "brokers", "--entity-name", "1"), "log.retention.ms", "88000"),
        (("--entity-type", "brokers", "--entity-default"), "log.retention.ms", "89000"),
        (("--entity-type", "users", "--entity-name", ready), "producer_byte_rate", "1024"),
        (("--entity-type", "users", "--entity-default"), "consumer_byte_rate", "1024"),
        (("--entity-type", "clients", "--entity-name", ready), "request_percentage", "50"),
        (("--entity-type", "ips", "--entity-name", "10.0.0.1"), "connection_creation_rate", "5"),
        (
            ("--entity-type", "groups", "--entity-name", ready),
            "consumer.session.timeout.ms",
            "50000",
        ),
        (("--entity-type", "client-metrics", "--entity-name", ready), "interval.ms", "5000"),
    )
    for about, name, value in where:
        compare(tool, "--alter", *about, "--add-config", f"{name}={value}")
        assert name in compare(tool, "--describe", *about)
        if "client-metrics" in about:
            asked = [
                DescribeConfigsResource(
                    resource_type=CLIENT_METRICS, resource_name=each, configuration_keys=None
                )
                for each in (ready, "unknown")
            ]
            request = DescribeConfigsRequest(resources=asked, include_synonyms=True)
            pair.ask(ApiKey.DESCRIBE_CONFIGS, 4, request)
        compare(tool, "--alter", *about, "--delete-config", name)
        compare(tool, "--describe", *about)
    about = ("--entity-type", "topics", "--entity-name", ready)
    compare(tool, "--describe", "--all", *about)
    for wrong in ("retention.ms=soon", "no.such=1", "segment.bytes=1"):
        compare(tool, "--alter", *about, "--add-config", wrong)
    compare(tool, "--alter", *about, "--delete-config", "no.such")
    unknown = ("--entity-type", "topics", "--entity-name", f"{ready}-x")
    compare(tool, "--alter", *unknown, "--add-config", "retention.ms=1")
    compare(tool, "--describe", *unknown)
    compare(
        tool,
        "--alter",
        "--entity-type",
        "brokers",
        "--entity-name",
        "1",
        "--add-config",
        "log.dirs=x",
    )
    user = ("--entity-type", "users", "--entity-name", ready)
    compare(tool, "--alter", *user, "--add-config", "SCRAM-SHA-512=[iterations=8192,password=p]")
    compare(tool, "--describe", *user)
    compare(tool, "--alter", *user, "--delete-config", "SCRAM-SHA-512")


def test_consumer_groups(pair: Pair, tools: ToolProcess, compare: Compare, ready: str) -> None:
    tool, group = "kafka-consumer-groups", ("--group", f"{ready}-group")
    reset = ("--reset-offsets", *group, "--topic", ready)
    compare(tool, *reset, "--to-offset", "0", "--dry-run")
    compare(tool, *reset, "--to-offset", "0", "--execute")
    for how in (
        ("--to-earliest",),
        ("--to-latest",),
        ("--to-current",),
        ("--shift-by", "1"),
        ("--to-datetime", "2024-01-01T00:00:00.000"),
        ("--by-duration", "PT1H"),
    ):
        compare(tool, *reset, *how, "--dry-run")
    compare(tool, *reset, "--to-offset", "0", "--export", "--dry-run")
    assert ready in compare(tool, "--describe", *group)
    for what in ("--offsets", "--members", "--state", "--members --verbose"):
        compare(tool, "--describe", *group, *what.split())
    listed = [  # other tests have groups on these brokers, too
        [line for line in printed.splitlines() if line.startswith(ready)]
        for side in pair.sides
        for _, printed in [tools.run(tool, "--list", "--bootstrap-server", side.broker.bootstrap)]
    ]
    assert listed == [[f"{ready}-group"]] * 2
    compare(tool, "--describe", "--group", f"{ready}-none")
    compare(tool, "--delete-offsets", *group, "--topic", f"{ready}:1")
    compare(tool, "--delete-offsets", *group, "--topic", f"{ready}-x")
    compare(tool, "--delete", *group)
    compare(tool, "--delete", *group)


def test_records_and_offsets(compare: Compare, ready: str, tmp_path: Path) -> None:
    for when in (
        "earliest",
        "latest",
        "max-timestamp",
        "-1",
        "-2",
        "0",
        "earliest-local",
        "latest-tiered",
    ):
        compare("kafka-get-offsets", "--topic", ready, "--time", when)
    compare("kafka-get-offsets", "--topic-partitions", f"{ready}:0")
    compare("kafka-get-offsets", "--topic", f"{ready}-x")
    for partition, offset in ((0, 0), (0, -1), (0, 5)):
        wish = tmp_path / "offsets.json"
        asked = {"topic": ready, "partition": partition, "offset": offset}
        wish.write_text(json.dumps({"version": 1, "partitions": [asked]}))
        compare("kafka-delete-records", "--offset-json-file", str(wish))


def test_replicas(compare: Compare, ready: str, tmp_path: Path) -> None:
    printed = compare("kafka-log-dirs", "--describe", "--topic-list", ready)
    assert f'"partition":"{ready}-1"' in printed
    for kind, partition in (("preferred", "0"), ("unclean", "0"), ("preferred", "9")):
        where = ("--topic", ready, "--partition", partition)
        compare("kafka-leader-election", "--election-type", kind, *where)
    tool, plan, wanted = (
        "kafka-reassign-partitions",
        tmp_path / "plan.json",
        tmp_path / "topics.json",
    )
    wanted.write_text(json.dumps({"version": 1, "topics": [{"topic": ready}]}))
    compare(tool, "--generate", "--topics-to-move-json-file", str(wanted), "--broker-list", "1")
    for replicas in ([1], [7]):
        moves = [{"topic": ready, "partition": 0, "replicas": replicas}]
        plan.write_text(json.dumps({"version": 1, "partitions": moves}))
        compare(tool, "--execute", "--reassignment-json-file", str(plan))
    moves = [{"topic": ready, "partition": 0, "replicas": [1]}]
    plan.write_text(json.dumps({"version": 1, "partitions": moves}))
    compare(tool, "--verify", "--reassignment-json-file", str(plan))
    compare(tool, "--cancel", "--reassignment-json-file", str(plan))
    compare(tool, "--list")


def test_the_cluster(compare: Compare) -> None:
    compare("kafka-cluster", "cluster-id")
    compare("kafka-cluster", "list-endpoints")
    compare("kafka-cluster", "list-endpoints", "--include-fenced-brokers")
    compare("kafka-cluster", "unregister", "--id", "77")
    tool = "kafka-features"
    for arguments in (
        ("version-mapping",),
        ("feature-dependencies", "--feature", "group.version=1"),
        ("upgrade", "--feature", "group.version=9"),
        ("upgrade", "--feature", "nonsense=1"),
        ("downgrade", "--feature", "metadata.version=29"),
        ("downgrade", "--feature", "group.version=0", "--dry-run"),
        ("disable", "--feature", "group.version", "--dry-run"),
        ("upgrade", "--feature", "transaction.version=2", "--dry-run"),
    ):
        compare(tool, *arguments)
    described = compare(tool, "describe", mask=r"Epoch: \d+")
    assert "Feature: metadata.version" in described
    compare("kafka-client-metrics", "--list", in_any_order=True)


def test_versions_of_apis(pair: Pair, tools: ToolProcess) -> None:
    """The same APIs in the same versions."""
    found: list[dict[str, str]] = []
    for side in (pair.reference, pair.tested):
        where = ("--bootstrap-server", side.broker.bootstrap)
        status, printed = tools.run("kafka-broker-api-versions", *where)
        assert status == 0
        lines = [line.strip().rstrip(",") for line in printed.splitlines()[1:]]
        found.append(dict(line.split(": ", 1) for line in lines if ": " in line))
    reference, tested = found
    assert len(reference) > 60
    assert tested == reference


def test_the_quorum(pair: Pair, tools: ToolProcess) -> None:
    """Ids and offsets are anybody's own; the fields are the same."""
    for what in ("--status", "--replication"):
        fields: list[list[str]] = []
        for side in (pair.reference, pair.tested):
            where = ("--bootstrap-server", side.broker.bootstrap)
            status, printed = tools.run("kafka-metadata-quorum", *where, "describe", what)
            assert status == 0
            fields.append([re.split(r":|\s", line)[0] for line in printed.splitlines()][:8])
        if what == "--status":
            assert fields[1] == fields[0]
        else:
            assert fields[1][0] == fields[0][0] == "NodeId"
