"""A directory that grew is taken over by Apache Kafka's brokers, and comes back, under load.

A broker that was alone becomes one of a cluster. Its partitions go to a broker of Apache Kafka one
after the other, with `kafka-reassign-partitions`. Then kafkalite is stopped, and Apache Kafka has
all of it. The way back is the same. After each step all records are the same as before it, also
byte by byte in the files of what nobody writes to any more.
"""

from __future__ import annotations

import hashlib
import json
import shlex
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.harness.kafkalite import Kafkalite
from conformance.harness.quorum import FIRST_KAFKA, FIRST_KAFKALITE, QuorumCluster
from conformance.harness.tools import run_tool
from conformance.scenarios.kept_groups import QUEUE, KeptGroups
from conformance.scenarios.page import inline, replaced
from conformance.scenarios.test_growing import GrownCluster
from kafkalite.log.files import FILES
from kafkalite.log.meta_properties import read_meta_properties

KEPT, BUSY, GROUP, COPIER = "kept", "busy", "readers", "copier"
PARTITIONS = 2
RECORDS = 400
SECONDS = 60
LEAVING = "### Leaving for Apache Kafka, and coming back"
INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state", QUEUE)
# The partitions of each move; none stands for the internal topics.
STEPS = ([(KEPT, 0)], [(BUSY, 0)], [(KEPT, 1), (BUSY, 1)], [])

pytestmark = pytest.mark.xdist_group("cluster")


class MixedCluster(GrownCluster):
    """The grown broker, and one of Apache Kafka."""

    def format(self, node_id: int) -> None:
        super().format(node_id)
        if node_id in self.kafka:
            known = read_meta_properties(self.data(FIRST_KAFKALITE), FILES)
            assert known is not None
            self.cluster_id = known.cluster_id
            QuorumCluster.format(self, node_id)


@pytest.fixture
def grown(tmp_path: Path) -> Iterator[tuple[MixedCluster, KeptGroups]]:
    home = tmp_path / f"node-{FIRST_KAFKALITE}"
    alone = Kafkalite(home, {"node.id": str(FIRST_KAFKALITE)})
    try:
        fill(alone.bootstrap)
        groups = KeptGroups(alone.bootstrap)
        groups.leave()
    finally:
        alone.stop()
    made = MixedCluster(tmp_path, kafka=1, kafkalite=1)
    groups.bootstrap = made.bootstrap
    yield made, groups
    made.close()


def fill(bootstrap: str) -> None:
    """Records of all kinds: compressed ones, with keys and headers, committed and aborted."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for made in admin.create_topics([NewTopic(each, PARTITIONS) for each in (KEPT, BUSY)]).values():
        made.result(SECONDS)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec})
        for number in range(RECORDS // 5):
            key, headers = b"key-%d" % number, [("codec", codec.encode())]
            producer.produce(KEPT, b"%d" % number, key, number % PARTITIONS, headers=headers)
        assert producer.flush(SECONDS) == 0
    transacting = Producer({"bootstrap.servers": bootstrap, "transactional.id": "first"})
    transacting.init_transactions(SECONDS)
    for end in (transacting.commit_transaction, transacting.abort_transaction):
        transacting.begin_transaction()
        for partition in range(PARTITIONS):
            transacting.produce(KEPT, b"in a transaction", partition=partition)
        transacting.flush(SECONDS)
        end(SECONDS)


class Load:
    """A producer of numbers, and a producer of transactions that commits a group's offsets."""

    def __init__(self, bootstrap: str) -> None:
        self.written = 0
        self.copied = 0
        self.failures: list[str] = []
        self._stopping = threading.Event()
        self._bootstrap = bootstrap
        self._threads = [threading.Thread(target=each) for each in (self._write, self._copy)]
        for each in self._threads:
            each.start()

    def _delivered(self, error: object, _: object) -> None:
        if error is not None:
            self.failures.append(str(error))

    def _write(self) -> None:
        producer = Producer(
            {"bootstrap.servers": self._bootstrap, "acks": "all", "enable.idempotence": True}
        )
        while not self._stopping.wait(0.005):
            partition = self.written % PARTITIONS
            value = b"%d" % self.written
            producer.produce(BUSY, value, partition=partition, on_delivery=self._delivered)
            producer.poll(0)
            self.written += 1
        if producer.flush(SECONDS):
            self.failures.append("not all was acknowledged")

    def _copy(self) -> None:
        settings = {"bootstrap.servers": self._bootstrap, "transactional.id": COPIER}
        producer = Producer(settings)
        consumer = Consumer({"bootstrap.servers": self._bootstrap, "group.id": GROUP})
        producer.init_transactions(SECONDS)
        while not self._stopping.wait(0.1):
            producer.begin_transaction()
            offsets = [TopicPartition(BUSY, 0, self.copied + 1)]
            try:
                producer.send_offsets_to_transaction(
                    offsets, consumer.consumer_group_metadata(), SECONDS
                )
                producer.commit_transaction(SECONDS)
            except KafkaException as error:
                if not error.args[0].txn_requires_abort():
                    self.failures.append(str(error))
                    break
                producer.abort_transaction(SECONDS)
            else:
                self.copied += 1
        consumer.close()

    def wait_for_more(self) -> None:
        """Until transactions were committed anew."""
        before, deadline = self.copied, time.monotonic() + SECONDS
        while self.copied < before + 3:
            assert not self.failures
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def stop(self) -> None:
        self._stopping.set()
        for each in self._threads:
            each.join()


def records(bootstrap: str, topic: str, partition: int, isolation: str) -> list[bytes]:
    """All that a consumer is given, up to what is the end now."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "none",
            "isolation.level": isolation,
            "enable.partition.eof": True,
        }
    )
    _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), SECONDS)
    consumer.assign([TopicPartition(topic, partition, 0)])
    found: list[bytes] = []
    offset = -1
    while offset + 1 < end:
        message = consumer.poll(SECONDS)
        assert message is not None, found
        if message.error() is not None:  # the end, behind the marker of a transaction
            break
        offset = message.offset() or 0
        told = (message.offset(), message.timestamp(), message.key(), message.value())
        found.append(repr((*told, message.headers())).encode())
    consumer.close()
    return found


class Comparison:
    """All that was there at the step before must be there, the same, at each step."""

    def __init__(self, cluster: MixedCluster) -> None:
        self._cluster = cluster
        self._seen: dict[tuple[str, int, str], tuple[int, str]] = {}
        self._bytes: dict[int, str] = {}

    def look(self) -> None:
        for topic, partition in ((t, p) for t in (KEPT, BUSY) for p in range(PARTITIONS)):
            for isolation in ("read_committed", "read_uncommitted"):
                key = topic, partition, isolation
                found = records(self._cluster.bootstrap, *key)
                count, digest = self._seen.get(key, (0, digest_of([])))
                assert digest_of(found[:count]) == digest, key
                assert topic == BUSY or count in (0, len(found))
                self._seen[key] = len(found), digest_of(found)
        for partition in range(PARTITIONS):
            found = self._segments(partition)
            assert self._bytes.setdefault(partition, found) == found

    def _segments(self, partition: int) -> str:
        """The bytes of the one replica, by whichever broker."""
        (home,) = [
            path
            for node_id in self._cluster.brokers
            if (path := self._cluster.data(node_id) / f"{KEPT}-{partition}").is_dir()
        ]
        return digest_of([b"".join(path.read_bytes() for path in sorted(home.glob("*.log")))])


def digest_of(pieces: list[bytes]) -> str:
    return hashlib.sha256(b"\n".join(pieces)).hexdigest()


def move(cluster: QuorumCluster, directory: Path, some: list[tuple[str, int]], to: int) -> None:
    """Move these partitions, or those of the internal topics if there are none."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    known = admin.list_topics(timeout=SECONDS).topics
    is_planned = not some
    some = some or [(name, index) for name in INTERNAL for index in known[name].partitions]
    file = directory / "plan.json"
    file.write_text(
        planned(cluster, directory, to)
        if is_planned
        else json.dumps(
            {
                "version": 1,
                "partitions": [
                    {"topic": topic, "partition": index, "replicas": [to]} for topic, index in some
                ],
            }
        )
    )
    common = ("--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", str(file))
    begun = run_tool("kafka-reassign-partitions", *common, "--execute")
    assert begun.status == 0, begun
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        done = run_tool("kafka-reassign-partitions", *common, "--verify")
        if done.output.count("is completed") == len(some):
            break
    else:
        raise AssertionError(done)
    known = admin.list_topics(timeout=SECONDS).topics
    for topic, index in some:
        partition = known[topic].partitions[index]
        assert (partition.leader, partition.replicas) == (to, [to])
    wait_until_gone(cluster, [each for each in some if each[0] == KEPT], to)


def planned(cluster: QuorumCluster, directory: Path, to: int) -> str:
    """The plan that the tool makes for the internal topics, as docs/cluster.md says."""
    topics = directory / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": each} for each in INTERNAL]}))
    (_, arguments) = inline(LEAVING, "--generate").split(" ", 1)
    asked = shlex.split(replaced(arguments, {"topics.json": str(topics), "4,5,6": str(to)}))
    made = run_tool("kafka-reassign-partitions", "--bootstrap-server", cluster.bootstrap, *asked)
    assert made.status == 0, made
    return made.output.rpartition("Proposed partition reassignment configuration")[2].strip()


def wait_until_gone(cluster: QuorumCluster, some: list[tuple[str, int]], to: int) -> None:
    """Until the logs are nowhere else."""
    deadline = time.monotonic() + SECONDS
    for topic, index in some:
        others = [cluster.data(each) / f"{topic}-{index}" for each in cluster.brokers if each != to]
        while any(each.is_dir() for each in others):
            assert time.monotonic() < deadline
            time.sleep(0.05)


@pytest.mark.long
def test_all_goes_to_apache_kafka_and_comes_back(
    grown: tuple[MixedCluster, KeptGroups], tmp_path: Path
) -> None:
    cluster, groups = grown
    ours, theirs = FIRST_KAFKALITE, FIRST_KAFKA
    comparison = Comparison(cluster)
    load = Load(cluster.bootstrap)
    try:
        load.wait_for_more()
        comparison.look()
        for source, target in ((ours, theirs), (theirs, ours)):
            for some in STEPS:
                move(cluster, tmp_path, some, target)
                load.wait_for_more()
                comparison.look()
            assert cluster.stop(source) in (0, 143)  # a JVM's status after SIGTERM
            left = f"127.0.0.1:{cluster.brokers[target]}"
            tool, *arguments = inline(LEAVING, "kafka-cluster").split()
            at = ("--bootstrap-server", left)
            gone = run_tool(tool, *arguments, str(source), *at)
            assert gone.status == 0, gone
            load.wait_for_more()
            comparison.look()
            groups.bootstrap = left
            groups.check()
            cluster.start(source)
            cluster.wait([source])
    finally:
        load.stop()
    assert load.failures == []
    comparison.look()
    for partition in range(PARTITIONS):
        read = records(cluster.bootstrap, BUSY, partition, "read_committed")
        assert len(read) == len(range(partition, load.written, PARTITIONS))
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": GROUP})
    (committed,) = consumer.committed([TopicPartition(BUSY, 0)], SECONDS)
    assert committed.offset == load.copied
    consumer.close()
