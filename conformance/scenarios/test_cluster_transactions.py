"""Transactions over brokers of both kinds, in partitions that kafkalite leads.

The leaders ask the coordinator before the first batch, and take its markers. So does the group
coordinator with offsets inside a transaction. One coordinator is Apache Kafka's, the others are
kafkalite's, and one of those is killed. The nodes reach each other by TLS and SASL only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from conformance.harness.quorum import QuorumCluster
from conformance.harness.tools import run_tool
from conformance.scenarios.test_transactions_tool import write_what_hangs
from kafkalite.group_coordinator.java_hash import partition_of_key

KAFKA, FIRST, SECOND = 1, 11, 12
# By the partition of __transaction_state. Each broker's configs have as many of them.
COORDINATORS = (FIRST, SECOND, KAFKA, KAFKA)
SECONDS = 90
# librdkafka loses a request to a broker that leaves the cluster just then. The call waits for
# nothing until it is over, and is made again; if it never ends, the application starts anew.
CALL_SECONDS = 10
CALLS = 3
# librdkafka remembers the group's coordinator. If that broker leaves the cluster, the next
# send_offsets_to_transaction waits for it for good, past its own timeout: its log says again and
# again that the broker's "handle is terminating", and no request is sent (librdkafka #5511, #5456).
# The call returns when the transaction has timed out, or, seen once in ten runs, only when the
# brokers close the connections on which nothing is sent.
TRANSACTION_SECONDS = 30
IDLE_SECONDS = 20
TRANSACTIONS = 12
JAVA_RECORDS = 1000
PROPERTIES = {
    "min.insync.replicas": "2",
    "replica.lag.time.max.ms": "5000",
    "connections.max.idle.ms": str(IDLE_SECONDS * 1000),
}

pytestmark = pytest.mark.xdist_group("cluster")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuorumCluster]:
    made = QuorumCluster(
        tmp_path_factory.mktemp("transactions"),
        kafka=1,
        kafkalite=2,
        properties=PROPERTIES,
        secured=True,
    )
    # The coordinators of all transactions, and those of all groups.
    others = {FIRST: "12:1", SECOND: "1:11", KAFKA: "12:11"}
    assignment = [f"{broker}:{others[broker]}" for broker in COORDINATORS]
    create(made, "__transaction_state", assignment, "cleanup.policy=compact")
    create(made, "__consumer_offsets", ["11:12:1", "12:11:1"] * 2, "cleanup.policy=compact")
    create(made, "out", ["11:12:1", "12:11:1"], "min.insync.replicas=2")
    yield made
    made.close()


def create(cluster: QuorumCluster, name: str, assignment: list[str], config: str) -> None:
    created = run_tool(
        *("kafka-topics", "--bootstrap-server", f"127.0.0.1:{cluster.brokers[KAFKA]}"),
        *("--create", "--topic", name, "--config", config),
        *("--replica-assignment", ",".join(assignment)),
    )
    assert created.status == 0, created.errors


def id_coordinated_by(broker: int, prefix: str) -> str:
    """A transactional id whose coordinator this is at first."""
    names = (f"{prefix}-{number}" for number in count())
    return next(
        name for name in names if COORDINATORS[partition_of_key(name, len(COORDINATORS))] == broker
    )


class LostError(Exception):
    """This producer is of no use any more: librdkafka sends nothing, or was fenced as it had sent
    nothing for so long."""


def retried(work: Callable[[], object]) -> None:
    """Do it until it is done, as applications of librdkafka must. Raises LostError, or what ends a
    transaction."""
    for _ in range(CALLS):
        try:
            work()
        except KafkaException as error:
            if error.args[0].fatal():
                raise LostError from error
            if not error.args[0].retriable():
                raise
        else:
            return
    raise LostError


class Copier:
    """Writes two records, and the offset of what they were made from, in each transaction."""

    def __init__(self, cluster: QuorumCluster, coordinator: int) -> None:
        name = id_coordinated_by(coordinator, "copier")
        self._prefix = name.encode()
        self._cluster = cluster
        self._kept: list[int] = []
        self._start()

    def _start(self) -> None:
        """A new producer ends what the one before has begun."""
        name = self._prefix.decode()
        self._producer = Producer(
            {
                "bootstrap.servers": self._cluster.bootstrap,
                "transactional.id": name,
                "transaction.timeout.ms": TRANSACTION_SECONDS * 1000,
                "log_level": 0,
            }
        )
        self._consumer = Consumer(
            {"bootstrap.servers": self._cluster.bootstrap, "group.id": name, "log_level": 0}
        )
        self._producer.init_transactions(SECONDS)

    def copy(self, number: int, *, commit: bool) -> None:
        """A transaction that has to be aborted, or was lost, is made again."""
        is_done = False
        while not is_done:
            try:
                is_done = self._tried(number, commit=commit)
            except LostError:
                self._start()
                is_done = self._committed() == number
        if commit:
            self._kept.append(number)

    def _committed(self) -> int:
        (found,) = self._consumer.committed([TopicPartition("out", 0)], SECONDS)
        return found.offset

    def _tried(self, number: int, *, commit: bool) -> bool:
        values = [b"%s %d" % (self._prefix, number)] * 2
        producer = self._producer
        producer.begin_transaction()
        try:
            for partition, value in enumerate(values):
                producer.produce("out", value, partition=partition)
            offsets = [TopicPartition("out", 0, number)]
            metadata = self._consumer.consumer_group_metadata()
            retried(lambda: producer.send_offsets_to_transaction(offsets, metadata, CALL_SECONDS))
            if commit:
                retried(lambda: producer.commit_transaction(CALL_SECONDS))
                return True
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            retried(lambda: producer.abort_transaction(CALL_SECONDS))
            return False
        retried(lambda: producer.abort_transaction(CALL_SECONDS))
        return True

    def check(self) -> None:
        """All that was committed is there, in order, and nothing else."""
        for partition in (0, 1):
            read = read_committed(self._cluster, partition)
            mine = [value for value in read if value.startswith(self._prefix)]
            assert mine == [b"%s %d" % (self._prefix, number) for number in self._kept]
        assert self._committed() == self._kept[-1]


def read_committed(cluster: QuorumCluster, partition: int, topic: str = "out") -> list[bytes]:
    """All there is up to the end of a partition."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "none",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition(topic, partition, 0)])
    found: list[bytes] = []
    while True:
        message = consumer.poll(SECONDS)
        assert message is not None, found
        if message.error() is not None:
            break
        found.append(message.value() or b"")
    consumer.close()
    return found


def test_what_is_committed_is_read_and_nothing_else(cluster: QuorumCluster) -> None:
    copiers = [Copier(cluster, coordinator) for coordinator in (FIRST, KAFKA)]
    for number in range(TRANSACTIONS):
        for copier in copiers:
            copier.copy(number, commit=number % 3 != 2)
    for copier in copiers:
        copier.check()

    cluster.kill(FIRST)  # a coordinator of transactions and groups, and a leader of partitions
    for number in range(TRANSACTIONS, 2 * TRANSACTIONS):
        for copier in copiers:
            copier.copy(number, commit=number % 3 != 2)
    for copier in copiers:
        copier.check()
    cluster.start(FIRST)
    cluster.wait()


def test_a_producer_of_the_second_generation_leaves_it_to_the_brokers(
    cluster: QuorumCluster,
) -> None:
    """Kafka's own client does not add partitions to transactions itself (KIP-890)."""
    create(cluster, "java", ["11:12:1", "12:11:1"], "min.insync.replicas=2")
    written = run_tool(
        *("kafka-producer-perf-test", "--topic", "java", "--num-records", str(JAVA_RECORDS)),
        *("--record-size", "10", "--throughput", "500"),
        *(
            "--transactional-id",
            id_coordinated_by(SECOND, "java"),
            "--transaction-duration-ms",
            "50",
        ),
        *("--bootstrap-server", cluster.bootstrap),
    )
    assert written.status == 0, written.errors
    found = [read_committed(cluster, partition, "java") for partition in (0, 1)]
    assert sum(map(len, found)) == JAVA_RECORDS


def test_no_transaction_hangs(cluster: QuorumCluster) -> None:
    assert "out" not in hanging(cluster, "--max-transaction-timeout", "0")


def hanging(cluster: QuorumCluster, *more: str) -> str:
    """The answer of kafka-transactions about the partitions that a broker of kafkalite leads."""
    found = run_tool(
        *("kafka-transactions", "--bootstrap-server", f"127.0.0.1:{cluster.brokers[SECOND]}"),
        *("find-hanging", "--broker-id", str(SECOND), *more),
    )
    assert found.status == 0, found.errors
    return found.output


def test_one_that_hangs_is_found_and_ended(cluster: QuorumCluster) -> None:
    """The leader is asked to write a marker, whose followers are of both kinds."""
    configured = run_tool(
        *("kafka-configs", "--bootstrap-server", f"127.0.0.1:{cluster.brokers[SECOND]}"),
        *("--alter", "--entity-type", "brokers", "--entity-default"),
        *("--add-config", "transaction.partition.verification.enable=false"),
    )
    assert configured.status == 0, configured.errors
    create(cluster, "stuck", ["12:11:1"], "min.insync.replicas=2")
    write_what_hangs(f"127.0.0.1:{cluster.brokers[SECOND]}", "stuck")
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    producer.produce("stuck", b"behind it")
    assert producer.flush(SECONDS) == 0
    assert read_committed(cluster, 0, "stuck") == []
    (found,) = [line for line in hanging(cluster).splitlines() if "stuck" in line]
    assert found.split()[:3] == ["stuck", "0", "4242"]
    ended = run_tool(
        *("kafka-transactions", "--bootstrap-server", f"127.0.0.1:{cluster.brokers[KAFKA]}"),
        *("abort", "--topic", "stuck", "--partition", "0", "--start-offset", "0"),
    )
    assert ended.status == 0, ended.errors
    assert read_committed(cluster, 0, "stuck") == [b"behind it"]
    assert "stuck" not in hanging(cluster)
