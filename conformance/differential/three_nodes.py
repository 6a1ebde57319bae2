"""Three nodes, one of which goes and comes back: `python -m conformance.differential.three_nodes`.

Runs the same steps against three processes of Apache Kafka and against three nodes of one
kafkalite, and compares what clients see once it is settled: leaders, leader epochs, in-sync
replicas, eligible leaders, replicas offline. Takes about four minutes, nearly all of it Kafka's
session timeouts. tests/kafkalite/cluster/test_leadership.py keeps what Kafka showed, and is quick.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from conformance.benchmarks.topics import Client
from conformance.differential.wait_ready import assigned_topic
from conformance.harness.apache_kafka import ApacheKafka, java_command
from conformance.harness.process import Process
from kafkalite.testing import broker as kafkalite_broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.create_topics import CreateTopicsRequest
from kafkalite.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)

# Assignments of the partitions, and configs, by topic.
TOPICS: dict[str, tuple[list[list[int]], dict[str, str]]] = {
    "one": ([[2]], {}),
    "two": ([[2, 3], [3, 2], [1, 2]], {}),
    "three": ([[2, 3, 1], [1, 2, 3]], {}),
    "min2": ([[2, 3, 1], [3, 1, 2]], {"min.insync.replicas": "2"}),
    "min3": ([[2, 3, 1]], {"min.insync.replicas": "3"}),
    "unclean": ([[2, 3], [3, 2]], {"unclean.leader.election.enable": "true"}),
}
STEPS = [("stop", 2), ("start", 2), ("stop", 3), ("start", 3), ("stop", 2), ("start", 2)]
SETTLED_SECONDS = 15.0
# On a busy machine the quorum must not lose its head.
PATIENT = {
    "controller.quorum.election.timeout.ms": "8000",
    "controller.quorum.fetch.timeout.ms": "15000",
    "broker.session.timeout.ms": "6000",
    "broker.heartbeat.interval.ms": "1000",
    "replica.lag.time.max.ms": "60000",
}

# Leader, leader epoch, in-sync replicas, eligible leaders, last known leader, offline, by
# partition.
Seen = dict[str, tuple[int, int, list[int], list[int], list[int], list[int]]]


def create(client: Client) -> None:
    topics = [assigned_topic(name, *chosen) for name, chosen in TOPICS.items()]
    body = CreateTopicsRequest(topics=topics, timeout_ms=10_000)
    answer = client.ask(ApiKey.CREATE_TOPICS, 7, body)
    assert {topic.error_code for topic in answer.topics} == {0}, answer


def look(client: Client) -> Seen:
    body = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name) for name in TOPICS])
    answer = client.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, body)
    return {
        f"{topic.name}-{partition.partition_index}": (
            partition.leader_id,
            partition.leader_epoch,
            partition.isr_nodes,
            partition.eligible_leader_replicas or [],
            partition.last_known_elr or [],
            partition.offline_replicas,
        )
        for topic in answer.topics
        for partition in topic.partitions
    }


def settled(client: Client, before: Seen) -> Seen:
    """The state that is seen after a change, once nothing has changed for long."""
    seen, changed = before, time.monotonic()
    while seen == before or time.monotonic() - changed < SETTLED_SECONDS:
        now = look(client)
        if now != seen:
            seen, changed = now, time.monotonic()
        time.sleep(0.2)
    return seen


def with_kafka() -> list[Seen]:
    with tempfile.TemporaryDirectory() as directory:
        kafka = ApacheKafka(Path(directory), PATIENT, 3)

        def take(step: str, node_id: int) -> None:
            if step == "stop":
                kafka.processes[node_id - 1].kill()
                return
            command = java_command("kafka.Kafka", str(kafka.home(node_id) / "server.properties"))
            output = kafka.home(node_id) / "output"
            kafka.processes[node_id - 1] = Process(command, output, environment={**os.environ})

        try:
            return steps(Client(kafka.bootstrap), take, settled)
        finally:
            kafka.kill()


def with_kafkalite() -> list[Seen]:
    with kafkalite_broker(nodes=3) as b:

        def take(step: str, node_id: int) -> None:
            (b.stop_node if step == "stop" else b.start_node)(node_id)

        return steps(Client(b.bootstrap), take, lambda client, before: look(client))


def steps(
    client: Client,
    take: Callable[[str, int], Any],
    wait: Callable[[Client, Seen], Seen],
) -> list[Seen]:
    create(client)
    seen = [look(client)]
    for step, node_id in STEPS:
        take(step, node_id)
        seen.append(wait(client, seen[-1]))
    client.close()
    return seen


def main() -> int:
    expected, found = with_kafka(), with_kafkalite()
    differences = 0
    for step, theirs, ours in zip([("create", 0), *STEPS], expected, found, strict=True):
        print(*step)
        for name in theirs:
            is_same = theirs[name] == ours[name]
            differences += not is_same
            print(f"  {name:10} {theirs[name]}", "" if is_same else f"kafkalite: {ours[name]}")
    return int(differences > 0)


if __name__ == "__main__":
    sys.exit(main())
