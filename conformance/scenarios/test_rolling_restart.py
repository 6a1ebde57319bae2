"""One broker after the other is restarted, then the features are upgraded: no client sees an error.

The controllers begin with the features of an older release, as those of a cluster that is upgraded
do. Clients are configured as their manuals have it: acks=all, three replicas of which two must be
in sync, and the brokers of the whole cluster to begin with.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from conformance.harness.one_of_many import PROPERTIES
from conformance.harness.quorum import QuorumCluster
from conformance.harness.tools import run_tool

TOPIC, TRANSACTED = "numbers", "transacted"
PARTITIONS = 3
SECONDS = 60
OLD, NEW = "4.0", "4.3"

pytestmark = pytest.mark.xdist_group("rolling-restart")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[QuorumCluster]:
    made = QuorumCluster(tmp_path, kafkalite=3, properties=PROPERTIES, release=OLD)
    yield made
    made.close()


class Clients:
    """Each does one thing again and again. `failures` is everything that an application sees."""

    def __init__(self, bootstrap: str) -> None:
        self.failures: list[str] = []
        self.acknowledged: set[int] = set()
        self.read: list[int] = []
        self.committed: list[bytes] = []
        self.looks = 0
        self._bootstrap = bootstrap
        self._stopping = threading.Event()
        self._written = threading.Event()
        work = (self._write, self._consume, self._transact, self._look)
        self._threads = [threading.Thread(target=self._run, args=(each,)) for each in work]
        for each in self._threads:
            each.start()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except KafkaException as error:
            self.failures.append(f"{work.__name__}: {error}")
            self._written.set()

    def _settings(self, **more: str | int | bool) -> dict[str, str | int | bool]:
        return {"bootstrap.servers": self._bootstrap, "log_level": 0, **more}

    def _write(self) -> None:
        producer = Producer(self._settings(**{"acks": "all", "enable.idempotence": True}))
        number = 0
        while not self._stopping.wait(0.005):

            def delivered(error: object, _: object, number: int = number) -> None:
                if error is None:
                    self.acknowledged.add(number)
                else:
                    self.failures.append(f"{number}: {error}")

            producer.produce(
                TOPIC, b"%d" % number, partition=number % PARTITIONS, on_delivery=delivered
            )
            producer.poll(0)
            number += 1
        if producer.flush(SECONDS):
            self.failures.append("not all was acknowledged")
        self._written.set()

    def _consume(self) -> None:
        settings = {
            "group.id": "group",
            "group.protocol": "consumer",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
        consumer = Consumer(self._settings(**settings))
        consumer.subscribe([TOPIC])
        while not self._written.is_set() or len(self.read) < len(self.acknowledged):
            messages = consumer.consume(100, 0.5)
            for message in messages:
                if message.error() is not None:
                    self.failures.append(f"consumer: {message.error()}")
                else:
                    self.read.append(int(message.value() or b""))
            if messages:
                consumer.commit(asynchronous=False)
        consumer.close()

    def _transact(self) -> None:
        producer = Producer(self._settings(**{"transactional.id": "transactional"}))
        producer.init_transactions(SECONDS)
        while not self._stopping.wait(0.05):
            value = b"%d" % len(self.committed)
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                producer.produce(TRANSACTED, value, partition=partition)
            producer.commit_transaction(SECONDS)
            self.committed.append(value)

    def _look(self) -> None:
        admin = AdminClient(self._settings())
        resource = ConfigResource(ConfigResource.Type.TOPIC, TOPIC)
        while not self._stopping.wait(0.1):
            topic = admin.list_topics(TOPIC, timeout=SECONDS).topics[TOPIC]
            if topic.error is not None:
                self.failures.append(f"metadata: {topic.error}")
            admin.describe_configs([resource])[resource].result(SECONDS)
            self.looks += 1

    @property
    def progress(self) -> tuple[int, int, int, int]:
        return len(self.acknowledged), len(self.read), len(self.committed), self.looks

    def wait_for_more(self) -> None:
        """Until each client has got on."""
        before, deadline = self.progress, time.monotonic() + SECONDS
        while any(now < then + 5 for now, then in zip(self.progress, before, strict=True)):
            assert self.failures == []
            assert time.monotonic() < deadline, f"{before} became {self.progress}"
            time.sleep(0.05)

    def stop(self) -> None:
        self._stopping.set()
        for each in self._threads:
            each.join()


def wait_until_in_sync(cluster: QuorumCluster) -> None:
    """An operator waits for this between two brokers, and Kubernetes for less."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        topics = admin.list_topics(timeout=SECONDS).topics.values()
        if all(len(each.isrs) == 3 for topic in topics for each in topic.partitions.values()):
            return
        time.sleep(0.1)
    raise AssertionError("not all replicas are in sync")


def roll(cluster: QuorumCluster) -> None:
    for node_id in cluster.brokers:
        assert cluster.stop(node_id) == 0
        cluster.start(node_id)
        cluster.wait([node_id])
        wait_until_in_sync(cluster)


def levels(cluster: QuorumCluster) -> dict[str, str]:
    """The finalized features, by what one of the brokers says."""
    bootstrap = cluster.bootstrap.split(",")[0]
    described = run_tool("kafka-features", "--bootstrap-server", bootstrap, "describe")
    rows = [line.split() for line in described.lines if line.startswith("Feature:")]
    return {row[1]: row[row.index("FinalizedVersionLevel:") + 1] for row in rows}


@pytest.mark.long
def test_brokers_are_restarted_and_upgraded_under_load(cluster: QuorumCluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    new = [NewTopic(each, PARTITIONS, 3) for each in (TOPIC, TRANSACTED)]
    for made in admin.create_topics(new).values():
        made.result(SECONDS)
    assert levels(cluster)["metadata.version"].startswith(OLD)
    clients = Clients(cluster.bootstrap)
    try:
        clients.wait_for_more()
        roll(cluster)
        clients.wait_for_more()
        upgraded = run_tool(
            *("kafka-features", "--bootstrap-server", cluster.bootstrap),
            *("upgrade", "--release-version", NEW),
        )
        assert upgraded.status == 0, upgraded
        clients.wait_for_more()
        roll(cluster)
        clients.wait_for_more()
    finally:
        clients.stop()
    assert clients.failures == []
    assert sorted(clients.read) == sorted(clients.acknowledged)  # each once
    assert committed(cluster) == [clients.committed] * PARTITIONS
    found = levels(cluster)
    assert found["metadata.version"].startswith(NEW)
    assert found["share.version"] == "1"


def committed(cluster: QuorumCluster) -> list[list[bytes]]:
    """The values of committed transactions, by partition."""
    found: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
    settings = {"group.id": "none", "auto.offset.reset": "earliest", "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, **settings})
    consumer.subscribe([TRANSACTED])
    ends = 0
    while ends < PARTITIONS:
        message = consumer.poll(SECONDS)
        assert message is not None
        if message.error() is not None:
            ends += 1
        else:
            partition = message.partition()
            assert partition is not None
            found[partition].append(message.value() or b"")
    consumer.close()
    return found
