"""Three brokers of each kind, one kind after the other, under Apache Kafka's controller.

`python -m conformance.benchmarks.cluster`, or with `--quick`: does it run at all? `--only` takes
parts of it. All topics have three replicas, and acks=all. The sessions of both kinds end after
three seconds.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Final, Self

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.benchmarks.bulk import KB, launched, seconds_of
from conformance.benchmarks.sampling import ask, cpu_seconds, resident_bytes
from conformance.benchmarks.transactions import TOPIC as TRANSACTED
from conformance.benchmarks.transactions import with_librdkafka
from conformance.harness.apache_kafka import SERVER_JVM_FLAGS
from conformance.harness.quorum import QuorumCluster
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest

MB: Final = 1_000_000
PATIENCE_SECONDS: Final = 60.0
WARM_SECONDS: Final = 2.0
REPLICATED: Final = {
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "min.insync.replicas": "2",
}
CLIENT: Final = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100, "log_level": 0}
PARTS: Final = ("bulk", "transactions", "kills", "restart")
GROUP, OF_GROUPS, OF_TRANSACTIONS = "group", 0, 1
PARTS: Final = ("bulk", "transactions", "kills", "restart")
Figures = dict[str, float]


@contextmanager
def running(kind: str) -> Iterator[QuorumCluster]:
    """Three brokers of a kind, and their topics."""
    counts = {"kafka": 0, "kafkalite": 0} | {kind: 3}
    with tempfile.TemporaryDirectory(prefix="kafkalite-cluster-") as directory:
        cluster = QuorumCluster(
            Path(directory), properties=REPLICATED, jvm_flags=SERVER_JVM_FLAGS, **counts
        )
        try:
            admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
            topics = {"bulk": 4, "one": 1, TRANSACTED: 3}
            made = admin.create_topics([NewTopic(*each, 3) for each in topics.items()])
            for each in made.values():
                each.result(PATIENCE_SECONDS)
            wait_until_in_sync(cluster)
            yield cluster
        finally:
            cluster.close()


def measure(kind: str, parts: Sequence[str], *, rounds: int, quick: bool) -> Figures:
    """The figures of one kind; those of kills are the medians of `rounds`."""
    with running(kind) as cluster:
        figures: Figures = {"MB resident, three brokers, idle": resident(cluster)}
        measures: Mapping[str, Callable[[], Figures]] = {
            "bulk": lambda: bulk(cluster, 20_000 if quick else 1_000_000),
            "transactions": lambda: transactions(cluster, 50 if quick else 500),
            "kills": lambda: medians([pauses_by_kill(cluster) for _ in range(rounds)]),
            "restart": lambda: rolling_restart(cluster),
        }
        for part in parts:
            figures |= measures[part]()
            print(f"{kind}: {part}", figures, file=sys.stderr, flush=True)
        figures["MB resident, three brokers, after all this"] = resident(cluster)
        return figures


def medians(rounds: Sequence[Figures]) -> Figures:
    return {name: statistics.median(each[name] for each in rounds) for name in rounds[0]}


def pids(cluster: QuorumCluster) -> list[int]:
    return [cluster.processes[node_id].popen.pid for node_id in cluster.brokers]


def resident(cluster: QuorumCluster) -> float:
    return sum(resident_bytes(pid) for pid in pids(cluster)) / MB


def bulk(cluster: QuorumCluster, records: int) -> Figures:
    """One producer of 1 KB records; the processor time of all brokers, replicas' included."""
    rates: list[tuple[float, float]] = []
    for count in (records // 5, records, records, records):  # the first warms
        before = sum(map(cpu_seconds, pids(cluster)))
        wanted = ("bulk", 0, 4, count, KB, "none", 0)
        seconds = seconds_of([launched(cluster, "produce", *wanted)])
        cpu = sum(map(cpu_seconds, pids(cluster))) - before
        gigabytes = count * KB / 1e9
        rates.append((gigabytes * 1000 / seconds, cpu / gigabytes))
    return {
        "MB/s": statistics.median(each for each, _ in rates[1:]),
        "CPU s per GB, three brokers": statistics.median(each for _, each in rates[1:]),
    }


def transactions(cluster: QuorumCluster, count: int) -> Figures:
    """A producer's transactions, one after the other."""
    took = with_librdkafka(cluster, count)
    return {
        "transactions per second": 1000 * len(took) / sum(took),
        "ms a transaction, median": statistics.median(took),
    }


# -- pauses


def pauses_by_kill(cluster: QuorumCluster) -> Figures:
    """From the kill -9 of a leader or coordinator to the next success; and joining again."""
    found: Figures = {}
    writer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", **CLIENT})

    def write() -> None:
        writer.produce("one", b"v")
        if writer.flush(PATIENCE_SECONDS):
            raise KafkaException("not acknowledged")

    committer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": GROUP, **CLIENT})

    def commit() -> None:
        committer.commit(offsets=[TopicPartition("one", 0, 1)], asynchronous=False)

    name = f"transactional-{time.monotonic_ns()}"
    transacting = Producer(
        {"bootstrap.servers": cluster.bootstrap, "transactional.id": name, **CLIENT}
        | {"metadata.recovery.strategy": "none"}
    )
    transacting.init_transactions(PATIENCE_SECONDS)

    def transact() -> None:
        transacting.begin_transaction()
        transacting.produce("one", b"v")
        transacting.commit_transaction(PATIENCE_SECONDS)

    cases: Mapping[str, tuple[Callable[[], None], Callable[[], int]]] = {
        "record": (write, lambda: leader(cluster)),
        "committed offset": (commit, lambda: coordinator(cluster, GROUP, OF_GROUPS)),
        "transaction": (transact, lambda: coordinator(cluster, name, OF_TRANSACTIONS)),
    }
    joining: list[float] = []
    for what, (act, victim) in cases.items():
        with Repeated(act) as repeated:
            time.sleep(WARM_SECONDS)
            node_id = victim()
            cluster.kill(node_id)
            found[f"s from kill -9 to the next {what}"] = repeated.pause(time.monotonic())
        joining.append(seconds_to_join(cluster, node_id))
        wait_until_in_sync(cluster)
    committer.close()
    found["s to join, from the start of the process"] = statistics.median(joining)
    return found


class Repeated:
    """Does something again and again in a thread, and notes when it succeeded and failed."""

    def __init__(self, act: Callable[[], None]) -> None:
        self._act = act
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.successes: list[float] = []
        self.failure_count = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(0.005):
            try:
                self._act()
                self.successes.append(time.monotonic())
            except KafkaException:
                self.failure_count += 1

    def pause(self, since: float) -> float:
        """Seconds from then to the first success that began later."""
        deadline = since + PATIENCE_SECONDS
        # The act that was under way may still succeed.
        while len([each for each in self.successes if each > since]) < 3:
            if time.monotonic() > deadline:
                raise TimeoutError(f"nothing succeeded in {PATIENCE_SECONDS} s")
            time.sleep(0.01)
        times = [since, *(each for each in self.successes if each > since)]
        return max(later - earlier for earlier, later in pairwise(times))

    @property
    def longest_pause(self) -> float:
        """Between two successes, in seconds."""
        times = self.successes
        return max(later - earlier for earlier, later in pairwise(times))


def seconds_to_join(cluster: QuorumCluster, node_id: int) -> float:
    """From the start of its process until it serves, and knows all others."""
    began = time.monotonic()
    cluster.start(node_id)
    cluster.wait([node_id])
    return time.monotonic() - began


def rolling_restart(cluster: QuorumCluster) -> Figures:
    """Each broker is asked to leave, and started again, while a producer writes."""
    writer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", **CLIENT})

    def write() -> None:
        writer.produce("one", b"v")
        if writer.flush(PATIENCE_SECONDS):
            raise KafkaException("not acknowledged")

    began = time.monotonic()
    with Repeated(write) as repeated:
        for node_id in cluster.brokers:
            cluster.stop(node_id)
            cluster.start(node_id)
            cluster.wait([node_id])
            wait_until_in_sync(cluster)
    return {
        "s for a rolling restart": time.monotonic() - began,
        "s between two records then, at most": repeated.longest_pause,
        "records not acknowledged then": repeated.failure_count,
    }


# -- the cluster's state


def leader(cluster: QuorumCluster) -> int:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    return int(admin.list_topics("one", PATIENCE_SECONDS).topics["one"].partitions[0].leader)


def coordinator(cluster: QuorumCluster, key: str, kind: int) -> int:
    """The broker that coordinates a group or a transactional id."""
    body = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
    bootstrap = cluster.bootstrap.partition(",")[0]
    return int(ask(bootstrap, ApiKey.FIND_COORDINATOR, 6, body).coordinators[0].node_id)


def wait_until_in_sync(cluster: QuorumCluster) -> None:
    """Until all replicas of all partitions are in sync."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        topics = admin.list_topics(timeout=PATIENCE_SECONDS).topics.values()
        if all(len(each.isrs) == 3 for topic in topics for each in topic.partitions.values()):
            return
        time.sleep(0.05)
    raise TimeoutError(f"not all replicas are in sync after {PATIENCE_SECONDS} s")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m conformance.benchmarks.cluster")
    parser.add_argument("--quick", action="store_true", help="much smaller: does it run at all?")
    parser.add_argument("--only", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--kinds", default="kafka,kafkalite", help="one of them, to compare later")
    parser.add_argument("--rounds", type=int, default=5, help="of kills")
    flags = parser.parse_args()
    parts, rounds = flags.only.split(","), 1 if flags.quick else flags.rounds
    figures = {
        kind: measure(kind, parts, rounds=rounds, quick=flags.quick)
        for kind in flags.kinds.split(",")
    }
    kafka, kafkalite = figures.get("kafka", {}), figures.get("kafkalite", {})
    print("| three brokers, three replicas, acks=all | Apache Kafka | kafkalite | ratio |")
    print("|---|--:|--:|--:|")
    for name, theirs in kafka.items():
        if name not in kafkalite:
            continue
        ours = kafkalite[name]
        ratio = f"{ours / theirs:.2f}" if theirs else ""
        print(f"| {name} | {theirs:,.2f} | {ours:,.2f} | {ratio} |")


if __name__ == "__main__":
    main()
