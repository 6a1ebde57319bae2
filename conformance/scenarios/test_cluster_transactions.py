"""Transactions that one of Apache Kafka's brokers coordinates, in partitions that kafkalite leads.

The leaders ask the coordinator before the first batch, and take its markers. So does the group
coordinator with offsets inside a transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from conformance.harness.quorum import QuorumCluster
from conformance.harness.tools import run_tool

KAFKA, FIRST, SECOND = 1, 11, 12
SECONDS = 90
TRANSACTIONS = 12
JAVA_RECORDS = 1000
PROPERTIES = {"min.insync.replicas": "2", "replica.lag.time.max.ms": "5000"}

pytestmark = pytest.mark.xdist_group("cluster")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QuorumCluster]:
    made = QuorumCluster(
        tmp_path_factory.mktemp("transactions"), kafka=1, kafkalite=2, properties=PROPERTIES
    )
    # The coordinator of all transactions, and those of all groups.
    create(made, "__transaction_state", ["1"] * 4, "cleanup.policy=compact")
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


def retried(work: Callable[[], object]) -> None:
    """Do it until it is done, as applications of librdkafka must. Raises what ends a
    transaction."""
    while True:
        try:
            work()
        except KafkaException as error:
            if not error.args[0].retriable():
                raise
        else:
            return


class Copier:
    """Writes two records, and the offset of what they were made from, in each transaction."""

    def __init__(self, cluster: QuorumCluster) -> None:
        self.committed: list[bytes] = []
        self._producer = Producer(
            {"bootstrap.servers": cluster.bootstrap, "transactional.id": "copier", "log_level": 0}
        )
        self._consumer = Consumer(
            {"bootstrap.servers": cluster.bootstrap, "group.id": "copiers", "log_level": 0}
        )
        self._producer.init_transactions(SECONDS)

    def copy(self, number: int, *, commit: bool) -> None:
        """A transaction that has to be aborted is made again."""
        while not self._tried(number, commit=commit):
            pass

    def _tried(self, number: int, *, commit: bool) -> bool:
        values = [b"%d-%d" % (number, partition) for partition in (0, 1)]
        producer = self._producer
        producer.begin_transaction()
        try:
            for partition, value in enumerate(values):
                producer.produce("out", value, partition=partition)
            offsets = [TopicPartition("out", 0, number)]
            metadata = self._consumer.consumer_group_metadata()
            retried(lambda: producer.send_offsets_to_transaction(offsets, metadata, SECONDS))
            if commit:
                retried(lambda: producer.commit_transaction(SECONDS))
                self.committed += values
                return True
        except KafkaException as error:
            if not error.args[0].txn_requires_abort():
                raise
            retried(lambda: producer.abort_transaction(SECONDS))
            return False
        retried(lambda: producer.abort_transaction(SECONDS))
        return True

    def committed_offset(self) -> int:
        (found,) = self._consumer.committed([TopicPartition("out", 0)], SECONDS)
        return int(found.offset)


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
    copier = Copier(cluster)
    for number in range(TRANSACTIONS):
        copier.copy(number, commit=number % 3 != 2)
    kept = [number for number in range(TRANSACTIONS) if number % 3 != 2]
    for partition in (0, 1):
        expected = [b"%d-%d" % (number, partition) for number in kept]
        assert read_committed(cluster, partition) == expected
    assert copier.committed_offset() == kept[-1]

    cluster.kill(FIRST)
    for number in range(TRANSACTIONS, 2 * TRANSACTIONS):
        copier.copy(number, commit=number % 3 != 2)
    kept = [number for number in range(2 * TRANSACTIONS) if number % 3 != 2]
    for partition in (0, 1):
        expected = [b"%d-%d" % (number, partition) for number in kept]
        assert read_committed(cluster, partition) == expected
    assert copier.committed_offset() == kept[-1]
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
        *("--transactional-id", "java", "--transaction-duration-ms", "50"),
        *("--bootstrap-server", cluster.bootstrap),
    )
    assert written.status == 0, written.errors
    found = [read_committed(cluster, partition, "java") for partition in (0, 1)]
    assert sum(map(len, found)) == JAVA_RECORDS


def test_no_transaction_hangs(cluster: QuorumCluster) -> None:
    found = run_tool(
        *("kafka-transactions", "--bootstrap-server", f"127.0.0.1:{cluster.brokers[SECOND]}"),
        *("find-hanging", "--broker-id", str(SECOND), "--max-transaction-timeout", "0"),
    )
    assert found.status == 0, found.errors
    assert "out" not in found.output
