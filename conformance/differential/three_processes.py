"""Three brokers under Apache Kafka's controller, of one kind and then of the other.

`python -m conformance.differential.three_processes` takes the steps of three_nodes.py, and asks a
broker to leave, with three brokers of Apache Kafka and then with three of kafkalite. Two things
must be equal: what clients see after each step, and the metadata that the controller wrote because
of the brokers, for each broker and each partition in their order. Takes about five minutes, nearly
all of it waiting for what may still come.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import UUID

from conformance.benchmarks.topics import Client
from conformance.differential.three_nodes import PATIENT, TOPICS, Seen, settled
from conformance.differential.wait_ready import assigned_topic
from conformance.harness.quorum import FIRST_CONTROLLER, QuorumCluster
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.create_topics import CreateTopicsRequest
from kafkalite.wire.messages.stored import decode_metadata_record
from kafkalite.wire.record_batch import iterate_batches, iterate_records

STEPS = [
    ("kill", 2), ("start", 2), ("kill", 3), ("start", 3), ("stop", 2), ("start", 2),
]  # fmt: skip
# Kafka's brokers have the ids 1 to 3, kafkalite's 11 to 13.
KINDS = {"kafka": 0, "kafkalite": 10}
# Fields that differ from one run to the next, and those that tell of a machine.
_OF_THE_RUN = frozenset({"broker_epoch", "incarnation_id", "port", "topic_id", "directories"})
_OF_BROKERS = frozenset(
    {"isr", "replicas", "eligible_leader_replicas", "last_known_elr",
     "adding_replicas", "removing_replicas"}
)  # fmt: skip
_ONE_BROKER = frozenset({"leader", "broker_id"})
_KINDS_COMPARED = (
    "RegisterBrokerRecord", "BrokerRegistrationChangeRecord", "UnregisterBrokerRecord",
    "TopicRecord", "PartitionRecord", "PartitionChangeRecord", "ConfigRecord",
)  # fmt: skip

Written = dict[str, list[str]]


def run(kind: str) -> tuple[list[Seen], Written]:
    """The states seen after each step, and the records written."""
    first = KINDS[kind]
    with tempfile.TemporaryDirectory() as directory:
        counts = {"kafka": 0, "kafkalite": 0} | {kind: 3}
        cluster = QuorumCluster(Path(directory), properties=PATIENT, **counts)
        try:
            client = Client(f"127.0.0.1:{cluster.brokers[first + 1]}")
            create(client, first)
            seen = [settled(client, {})]
            for step, node_id in STEPS:
                getattr(cluster, step)(first + node_id)
                seen.append(settled(client, seen[-1]))
                print(f"{kind}: {step} {node_id}", flush=True)
            client.close()
            log = cluster.home(FIRST_CONTROLLER) / "data" / "__cluster_metadata-0"
            return [numbered(each, first) for each in seen], written(log, first)
        finally:
            cluster.close()


def create(client: Client, first: int) -> None:
    topics = [
        assigned_topic(name, [[first + each for each in nodes] for nodes in partitions], configs)
        for name, (partitions, configs) in TOPICS.items()
    ]
    body = CreateTopicsRequest(topics=topics, timeout_ms=10_000)
    answer = client.ask(ApiKey.CREATE_TOPICS, 7, body)
    assert {topic.error_code for topic in answer.topics} == {0}, answer


def numbered(seen: Seen, first: int) -> Seen:
    """With the ids 1 to 3."""

    def from_one(nodes: list[int]) -> list[int]:
        return [each - first for each in nodes]

    return {
        name: (
            leader - first if leader >= 0 else leader,
            epoch,
            from_one(in_sync),
            from_one(eligible),
            from_one(last_known),
            from_one(offline),
        )
        for name, (leader, epoch, in_sync, eligible, last_known, offline) in seen.items()
    }


def written(log: Path, first: int) -> Written:
    """The records about each broker and partition, as text that is the same for both kinds."""
    names: dict[UUID, str] = {}
    found: defaultdict[str, list[str]] = defaultdict(list)
    for record in records(log):
        kind = type(record).__name__
        if kind == "TopicRecord":
            names[record.topic_id] = record.name
        if kind in _KINDS_COMPARED:
            fields = canonical(asdict(record), first)
            found[about(record, names, first)].append(f"{kind} {fields}")
    return {name: in_one_order(texts) for name, texts in found.items()}


def in_one_order(texts: list[str]) -> list[str]:
    """A starting broker is unfenced and its directories are told, in either order.

    Apache Kafka's own brokers do both, as it depends on which heartbeat comes first.
    """
    made = list(texts)
    for index, (one, two) in enumerate(pairwise(texts)):
        if "'fenced': -1" in one and "'cordoned_log_dirs': []" in two:
            made[index], made[index + 1] = two, one
    return made


def records(log: Path) -> Iterator[Any]:
    """All records of the metadata log."""
    for segment in sorted(log.glob("*.log")):
        for batch in iterate_batches(segment.read_bytes()):
            for record in () if batch.is_control else iterate_records(batch):
                yield decode_metadata_record(record.value or b"")


def about(record: Any, names: Mapping[UUID, str], first: int) -> str:
    """The broker, partition or topic that a record is about."""
    if hasattr(record, "broker_id"):
        return f"broker {record.broker_id - first}"
    if hasattr(record, "partition_id"):
        return f"{names[record.topic_id]}-{record.partition_id}"
    return f"topic {getattr(record, 'name', '')}"


def canonical(fields: Mapping[str, Any], first: int) -> dict[str, Any]:
    """Without what differs from run to run; brokers numbered from 1, directories counted."""
    made: dict[str, Any] = {}
    for name, value in fields.items():
        if name in _OF_THE_RUN or value is None or value == ():
            continue
        if name in _ONE_BROKER:
            made[name] = value - first if value >= 0 else value
        elif name in _OF_BROKERS:
            made[name] = [each - first for each in value]
        elif name == "log_dirs":
            made[name] = len(value)
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            parts = [canonical(each, first) for each in value]
            made[name] = sorted(parts, key=str)
        else:
            made[name] = value
    return made


def main() -> int:
    theirs, their_metadata = run("kafka")
    ours, our_metadata = run("kafkalite")
    differences = 0
    for step, expected, found in zip([("create", 0), *STEPS], theirs, ours, strict=True):
        for name, state in expected.items():
            if state != found.get(name):
                differences += 1
                print(f"{step}: {name} {state}, kafkalite: {found.get(name)}")
    for name in sorted(their_metadata.keys() | our_metadata.keys()):
        expected_records, found_records = their_metadata.get(name, []), our_metadata.get(name, [])
        if expected_records != found_records:
            differences += 1
            print(f"{name}: Apache Kafka")
            print("".join(f"    {each}\n" for each in expected_records), end="")
            print("  kafkalite")
            print("".join(f"    {each}\n" for each in found_records), end="")
    count = sum(map(len, their_metadata.values()))
    print(f"{len(STEPS) + 1} states, {count} records of the metadata: {differences} differences")
    return int(differences > 0)


if __name__ == "__main__":
    sys.exit(main())
