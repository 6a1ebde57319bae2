"""Brokers of a cluster killed again and again: `python -m conformance.cluster_crash --seconds 600`.

An idempotent producer writes with acks=all to partitions with three replicas, two of which must be
in sync. Meanwhile brokers are killed, one or all at once, with controllers or without, asked to
leave, paused, or parted from the others, in both ways or in one; replicas are moved, and
controllers killed. Then:

- every acknowledged record is at the offset that its acknowledgement named, as it was sent;
- no record is there twice, and each partition has its records in the order they were sent in;
- the replicas of a partition have the same bytes.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import cycle
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.cluster_outcome import PARTITIONS, Outcome
from conformance.harness.members import Requests
from conformance.harness.quorum import QuorumCluster
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)

TOPIC = "crash"
REPLICAS = 3
PER_SECOND = 250
SESSION_SECONDS = 3.0  # broker.session.timeout.ms of the cluster
IN_SYNC_SECONDS = 60.0
REST_SECONDS = 90.0
PROPERTIES = {"min.insync.replicas": "2", "replica.lag.time.max.ms": "5000"}
CLIENT = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 500, "log_level": 0}


class Writer:
    """Sends numbers, one after the other, until it is stopped."""

    def __init__(self, bootstrap: str, outcome: Outcome) -> None:
        self._outcome = outcome
        self._stopping = threading.Event()
        self._producer = Producer(
            {
                **CLIENT,
                "bootstrap.servers": bootstrap,
                "acks": "all",
                "enable.idempotence": True,
                "message.timeout.ms": 120_000,
            }
        )
        self._threads = ThreadPoolExecutor(1)
        self._writing = self._threads.submit(self._write)

    def _write(self) -> None:
        while not self._stopping.is_set():
            value = str(self._outcome.sent)
            self._producer.produce(TOPIC, value=value, on_delivery=self._delivered)
            self._outcome.sent += 1
            self._producer.poll(0)
            time.sleep(1 / PER_SECOND)

    def _delivered(self, error: object, message: Message) -> None:
        if error is not None:
            self._outcome.errors.append(str(error))
            return
        partition, offset, value = message.partition(), message.offset(), message.value()
        assert partition is not None
        assert isinstance(value, bytes)
        if offset is None:
            self._outcome.acknowledged_somewhere.add(value)
        else:
            self._outcome.acknowledged[partition, offset] = value

    def stop(self) -> None:
        """Raises what ended the writing too early."""
        self._stopping.set()
        self._threads.shutdown()
        self._writing.result()
        self._producer.flush(REST_SECONDS)


class Faults:
    """One fault after the other, each made good before the next."""

    def __init__(
        self,
        cluster: QuorumCluster,
        seed: int,
        say: Callable[[str], None],
        kinds: Sequence[str] = (),
    ) -> None:
        """`kinds` of faults; all that the cluster can have unless some are given."""
        self._cluster = cluster
        self._random = random.Random(seed)
        self._say = say
        self._admin = AdminClient({**CLIENT, "bootstrap.servers": cluster.bootstrap})
        possible = ["kill", "kill", "leave", "pause", "all", "headless", "reassign"]
        if len(cluster.controllers) > 1:
            possible.append("controller")
        if cluster.links is not None:
            possible.append("part")
        self._kinds = list(kinds) or possible

    def one(self) -> str:
        """Do one thing to the cluster; say what."""
        kind = self._random.choice(self._kinds)
        nodes = self._cluster.controllers if kind == "controller" else self._cluster.brokers
        node_id = self._random.choice(sorted(nodes))
        self._say(f"{kind} {node_id}")
        if kind in ("kill", "controller"):
            self._restart([node_id])
        else:
            getattr(self, f"_{kind}")(node_id)
        self.await_in_sync()
        return f"{kind} {node_id}"

    def _restart(self, nodes: Sequence[int]) -> None:
        """Kill them, and start them after a while."""
        for each in nodes:
            self._cluster.kill(each)
        time.sleep(self._random.uniform(0.2, 5))
        for each in nodes:
            self._cluster.start(each)

    def _leave(self, node_id: int) -> None:
        self._cluster.stop(node_id)
        time.sleep(self._random.uniform(0.2, 5))
        self._cluster.start(node_id)

    def _pause(self, node_id: int) -> None:
        self._cluster.pause(node_id)
        time.sleep(self._random.uniform(1, 8))
        self._cluster.resume(node_id)

    def _part(self, node_id: int) -> None:
        assert self._cluster.links is not None
        is_unheard, is_deaf = self._random.choice([(True, True), (True, False), (False, True)])
        self._cluster.links.part(node_id, is_unheard=is_unheard, is_deaf=is_deaf)
        time.sleep(self._random.uniform(1, 10))  # it may fall out of sync, or not
        self._cluster.links.join()

    def _all(self, _: int) -> None:
        """All brokers at once, and perhaps the controllers with them; they come in any order."""
        nodes = [*self._cluster.brokers]
        if self._random.random() < 0.5:
            nodes += self._cluster.controllers
        self._random.shuffle(nodes)
        self._restart(nodes)

    def _headless(self, node_id: int) -> None:
        """A broker is killed and comes back while there is no controller."""
        for each in self._cluster.controllers:
            self._cluster.kill(each)
        self._restart([node_id])
        time.sleep(self._random.uniform(0.2, 2))
        for each in self._cluster.controllers:
            self._cluster.start(each)

    def _reassign(self, node_id: int) -> None:
        """Replicas go from a broker and come back, and one of the brokers is killed meanwhile."""
        nodes = sorted(self._cluster.brokers)
        others = [each for each in nodes if each != node_id]
        self._move(others)
        self._restart([self._random.choice(nodes)])
        # While a replica is still to be removed, Apache Kafka's controller changes nothing when it
        # is asked for all of them (ReplicationControlManager.changePartitionReassignment).
        self._move(None)
        self._move([node_id, *others])
        self._restart([self._random.choice(nodes)])

    def _move(self, replicas: list[int] | None) -> None:
        """Ask for these replicas of all partitions, until a broker passes it on.

        None takes back the moves that are not over.
        """
        taken = {0, *([ErrorCode.NO_REASSIGNMENT_IN_PROGRESS] if replicas is None else [])}
        topic = ReassignableTopic(
            name=TOPIC,
            partitions=[
                ReassignablePartition(partition_index=each, replicas=replicas)
                for each in range(PARTITIONS)
            ],
        )
        deadline = time.monotonic() + IN_SYNC_SECONDS
        refused: list[tuple[int, str | None]] = []
        for port in cycle(self._cluster.brokers.values()):
            with suppress(OSError), Requests(f"127.0.0.1:{port}") as connection:
                answer = connection.call(AlterPartitionReassignmentsRequest(topics=[topic]), 1)
                # Each partition is refused by itself, while one of the brokers is fenced.
                refused = [
                    (each.error_code, each.error_message)
                    for topic_answer in answer.responses
                    for each in topic_answer.partitions
                    if each.error_code not in taken
                ]
                if not answer.error_code and not refused:
                    return
            if time.monotonic() > deadline:
                raise TimeoutError(f"replicas cannot be reassigned: {refused}")
            time.sleep(0.1)

    def await_in_sync(self) -> None:
        """Wait until every partition has all its replicas in sync. Raises TimeoutError."""
        deadline = time.monotonic() + IN_SYNC_SECONDS
        seen = "nothing"
        while time.monotonic() < deadline:
            time.sleep(0.5)
            try:
                partitions = self._admin.list_topics(TOPIC, 10).topics[TOPIC].partitions.values()
            except KafkaException as error:  # the broker that it asked is the one that is gone
                self._say(f"not known: {error}")
                continue
            if all(len(each.isrs) == len(each.replicas) == REPLICAS for each in partitions):
                return
            seen = ", ".join(
                f"{each.id}: leader {each.leader}, replicas {each.replicas}, in sync {each.isrs}"
                for each in partitions
            )
        raise TimeoutError(f"the replicas are not in sync. {seen}\n{self._last_words()}")

    def _last_words(self) -> str:
        """Each node's last lines, and its exit status if it has ended."""
        return "\n".join(
            f"--- node {node_id}, status {self._cluster.processes[node_id].popen.poll()}:\n"
            f"{self._cluster.tail(node_id)}"
            for node_id in self._cluster.nodes
        )


def run(
    cluster: QuorumCluster,
    seconds: float,
    seed: int,
    say: Callable[[str], None],
    kinds: Sequence[str] = (),
) -> Outcome:
    """Faults for so long, and what came of it. Raises TimeoutError."""
    admin = AdminClient({**CLIENT, "bootstrap.servers": cluster.bootstrap})
    new = NewTopic(
        TOPIC, PARTITIONS, replication_factor=REPLICAS, config={"min.insync.replicas": "2"}
    )
    admin.create_topics([new])[TOPIC].result(30)
    faults = Faults(cluster, seed, say, kinds)
    faults.await_in_sync()
    outcome = Outcome()
    writer = Writer(cluster.bootstrap, outcome)
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(2)
            outcome.faults.append(faults.one())
    finally:
        writer.stop()
    # A broker that came back before its session was over still counts as in sync, and may not be.
    time.sleep(SESSION_SECONDS + 1)
    faults.await_in_sync()
    read(cluster.bootstrap, outcome)
    return outcome


def read(bootstrap: str, outcome: Outcome) -> None:
    """Everything that is there, from the beginning to the ends."""
    consumer = Consumer({**CLIENT, "bootstrap.servers": bootstrap, "group.id": "reader"})
    ends = {
        partition: consumer.get_watermark_offsets(TopicPartition(TOPIC, partition), 30)[1]
        for partition in range(PARTITIONS)
    }
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in ends])
    deadline = time.monotonic() + REST_SECONDS
    while time.monotonic() < deadline:
        for message in consumer.consume(1000, 0.5):
            if message.error() is None:
                partition, offset, value = message.partition(), message.offset(), message.value()
                assert partition is not None
                assert offset is not None
                assert isinstance(value, bytes)
                outcome.found[partition, offset] = value
        reached = {
            partition: max((o for p, o in outcome.found if p == partition), default=-1)
            for partition in ends
        }
        if all(reached[partition] + 1 >= end for partition, end in ends.items()):
            break
    consumer.close()


def differing_replicas(cluster: QuorumCluster) -> list[str]:
    """The partitions whose replicas' segments differ, once all brokers have stopped."""
    differing: list[str] = []
    for partition in range(PARTITIONS):
        name = f"{TOPIC}-{partition}"
        contents = {
            node_id: b"".join(
                path.read_bytes() for path in sorted((cluster.data(node_id) / name).glob("*.log"))
            )
            for node_id in cluster.brokers
        }
        if len(set(contents.values())) > 1:
            sizes = {node_id: len(content) for node_id, content in contents.items()}
            differing.append(f"{name}: {sizes}")
    return differing


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m conformance.cluster_crash")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--controllers", type=int, default=1)
    parser.add_argument("--kafka", type=int, default=0, help="brokers of Apache Kafka")
    parser.add_argument("--kafkalite", type=int, default=3, help="brokers of kafkalite")
    parser.add_argument(
        "--secured", action="store_true", help="TLS and SASL between nodes; none is parted then"
    )
    parser.add_argument("--faults", default="", help="the kinds, with commas between; else all")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    flags = parser.parse_args()
    print(f"seed {flags.seed}", flush=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cluster-crash-") as directory:
        cluster = QuorumCluster(
            Path(directory),
            controllers=flags.controllers,
            kafka=flags.kafka,
            kafkalite=flags.kafkalite,
            properties=PROPERTIES,
            secured=flags.secured,
            linked=not flags.secured,
        )
        try:
            outcome = run(
                cluster,
                flags.seconds,
                flags.seed,
                lambda text: print(f"{time.monotonic() - began:7.1f} {text}", flush=True),
                flags.faults.split(",") if flags.faults else (),
            )
            for node_id in cluster.brokers:
                cluster.stop(node_id)
            differing = differing_replicas(cluster)
        finally:
            cluster.close()
    print(outcome, f"replicas that differ: {differing or 'none'}")
    is_sound = not (outcome.lost or outcome.duplicate_count or outcome.disorder_count or differing)
    return 0 if is_sound else 1


if __name__ == "__main__":
    sys.exit(main())
