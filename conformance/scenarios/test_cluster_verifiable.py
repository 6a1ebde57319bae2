"""Apache Kafka's own tools of its system tests, with every placement of leaders over both kinds.

VerifiableProducer writes to partitions. TransactionalMessageCopier copies them, with aborts, and
VerifiableConsumer reads the copies. Each broker leads each input together with each output once,
for each coordinator of the copier's transactions.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from conformance.harness.one_of_many import PROPERTIES
from conformance.harness.quorum import QuorumCluster
from conformance.harness.tools import run_tool
from conformance.scenarios.placed_topics import placed_topic
from kafkalite.group_coordinator.java_hash import partition_of_key

BROKERS = (11, 12, 1)
INTERNAL = ("__transaction_state", "__consumer_offsets")
COORDINATORS = (*BROKERS, BROKERS[0])
# The leaders of the input and of the output, by partition.
PLACEMENTS = list(product(BROKERS, BROKERS))
RECORDS = 900
KEYS = 90
SECONDS = 240
GROUP_PROTOCOLS = dict(zip(BROKERS, ("consumer", "classic", "consumer"), strict=True))

Values = dict[int, list[str]]

pytestmark = pytest.mark.xdist_group("cluster")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[QuorumCluster]:
    made = QuorumCluster(tmp_path / "cluster", kafka=1, kafkalite=2, properties=PROPERTIES)
    yield made
    made.close()


def led_by(broker: int) -> list[int]:
    """The replicas of a partition that this broker leads."""
    return [broker, *(each for each in BROKERS if each != broker)]


def named_for(coordinator: int, prefix: str) -> str:
    """A transactional id, or the id of a group, that this broker coordinates."""
    names = (f"{prefix}-{number}" for number in count())
    return next(
        name
        for name in names
        if COORDINATORS[partition_of_key(name, len(COORDINATORS))] == coordinator
    )


def create(cluster: QuorumCluster) -> None:
    """All topics, with the leaders that they are to have."""
    compacted = {"cleanup.policy": "compact"}
    internal = [placed_topic(name, list(map(led_by, COORDINATORS)), compacted) for name in INTERNAL]
    copies = [led_by(leader) for _, leader in PLACEMENTS]
    outputs = [placed_topic(f"out-{broker}", copies) for broker in BROKERS]
    source = placed_topic("in", [led_by(leader) for leader, _ in PLACEMENTS])
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    for created in admin.create_topics([*internal, source, *outputs]).values():
        created.result(SECONDS)


def told(tool: str, *arguments: str) -> list[dict[str, Any]]:
    """The events that a tool prints, one a line."""
    ran = run_tool(tool, *arguments, seconds=SECONDS)
    assert ran.status == 0, ran
    return [json.loads(line) for line in ran.lines if line.startswith("{")]


def by_partition(events: list[dict[str, Any]], name: str) -> Values:
    """The values that events of this name tell, in the order of their offsets."""
    found: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for event in events:
        if event["name"] == name:
            found[event["partition"]].append((event["offset"], event["value"]))
    return {partition: [value for _, value in sorted(each)] for partition, each in found.items()}


def copy(cluster: QuorumCluster, coordinator: int) -> None:
    """All of the input to the output of this coordinator, in transactions of 20 records."""
    group_coordinator = BROKERS[BROKERS.index(coordinator) - 1]
    events = told(
        "kafka-transactional-message-copier",
        *("--broker-list", cluster.bootstrap, "--input-topic", "in", "--input-partition", "0"),
        *("--output-topic", f"out-{coordinator}", "--transaction-size", "20"),
        *("--transactional-id", named_for(coordinator, "copier")),
        *("--consumer-group", named_for(group_coordinator, f"copiers-{coordinator}")),
        *("--group-mode", "--use-group-metadata", "--enable-random-aborts"),
    )
    last = events[-1]
    assert (last["stage"], last["totalProcessed"]) == ("ShutdownComplete", RECORDS)


def consumed(cluster: QuorumCluster, broker: int, config: Path) -> Values:
    events = told(
        *("kafka-verifiable-consumer", "--bootstrap-server", cluster.bootstrap),
        *("--topic", f"out-{broker}", "--group-id", named_for(broker, "consumers")),
        *("--group-protocol", GROUP_PROTOCOLS[broker], "--max-messages", f"{RECORDS}"),
        *("--verbose", "--command-config", str(config)),
    )
    return by_partition(events, "record_data")


@pytest.mark.long
def test_every_placement_of_leaders(cluster: QuorumCluster, tmp_path: Path) -> None:
    create(cluster)
    sent = told(
        *("kafka-verifiable-producer", "--bootstrap-server", cluster.bootstrap, "--topic", "in"),
        *("--max-messages", f"{RECORDS}", "--repeating-keys", f"{KEYS}", "--acks", "-1"),
    )
    produced = by_partition(sent, "producer_send_success")
    assert set(produced) == set(range(len(PLACEMENTS)))
    assert sum(map(len, produced.values())) == RECORDS
    config = tmp_path / "consumer.properties"
    config.write_text("isolation.level=read_committed\n")
    with ThreadPoolExecutor(len(BROKERS)) as pool:
        list(pool.map(lambda broker: copy(cluster, broker), BROKERS))
        read = list(pool.map(lambda broker: consumed(cluster, broker, config), BROKERS))
    assert read == [produced] * len(BROKERS)
