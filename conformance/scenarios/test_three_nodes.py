"""Three nodes: every client finds the leader, and who is not the leader says so."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaProducer

from conformance.conftest import starter
from conformance.harness.broker import Broker
from conformance.harness.raw import RawConnection, produce_v3, produced_v3, record_batch
from conformance.harness.tools import run_tool
from conformance.scenarios.kafka_python_consumer import subscribed_consumer

SECONDS = 30
PARTITIONS = 6
NOT_LEADER_OR_FOLLOWER = 6


@pytest.fixture(scope="module")
def cluster(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, _living: list[Broker]
) -> Iterator[Broker]:
    start = starter(pytestconfig.getoption("--broker"), tmp_path_factory.mktemp("three"), _living)
    cluster = start(node_count=3)
    yield cluster
    _living.remove(cluster)
    cluster.stop()


@pytest.fixture
def spread(cluster: Broker, topic: str) -> str:
    """A topic whose partitions have leaders on every node."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    new = NewTopic(topic, num_partitions=PARTITIONS, replication_factor=3)
    admin.create_topics([new])[topic].result(SECONDS)
    leaders = leaders_of(cluster, topic)
    while len(leaders) < PARTITIONS or -1 in leaders.values():
        leaders = leaders_of(cluster, topic)
    return topic


def leaders_of(cluster: Broker, topic: str) -> dict[int, int]:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    partitions = admin.list_topics(topic, SECONDS).topics[topic].partitions
    return {index: partition.leader for index, partition in partitions.items()}


def test_three_addresses_and_spread_leaders(cluster: Broker, spread: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap.split(",")[0]})
    metadata = admin.list_topics(timeout=SECONDS)
    addresses = {f"{b.host}:{b.port}" for b in metadata.brokers.values()}
    assert addresses == set(cluster.bootstrap.split(","))
    assert set(metadata.brokers) == {1, 2, 3}
    assert metadata.controller_id in (1, 2, 3)
    leaders = leaders_of(cluster, spread)
    assert sorted(leaders.values()) == [1, 1, 2, 2, 3, 3]
    replicas = metadata.topics[spread].partitions[0].replicas
    assert sorted(replicas) == [1, 2, 3]


def test_librdkafka(cluster: Broker, spread: str) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True})
    for i in range(600):
        producer.produce(spread, str(i), partition=i % PARTITIONS)
    assert producer.flush(SECONDS) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": f"{spread}-group",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([spread])
    seen = []
    while len(seen) < 600:
        for message in consumer.consume(600, 1):
            if message.error():
                raise KafkaException(message.error())
            seen.append(int(message.value() or b""))
    consumer.commit(asynchronous=False)
    asked = [TopicPartition(spread, i) for i in range(PARTITIONS)]
    assert [p.offset for p in consumer.committed(asked, SECONDS)] == [100] * PARTITIONS
    consumer.close()
    assert sorted(seen) == list(range(600))


def test_kafka_python(cluster: Broker, spread: str) -> None:
    addresses = cluster.bootstrap.split(",")
    producer = KafkaProducer(bootstrap_servers=addresses[1])
    for i in range(60):
        producer.send(spread, str(i).encode(), partition=i % PARTITIONS)
    producer.flush(SECONDS)
    producer.close()
    consumer = subscribed_consumer(
        spread,
        bootstrap_servers=addresses[2],
        auto_offset_reset="earliest",
        consumer_timeout_ms=SECONDS * 1000,
    )
    seen = [int(next(consumer).value) for _ in range(60)]
    consumer.close()
    assert sorted(seen) == list(range(60))


def test_groups_live_on_every_node(cluster: Broker, spread: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    groups = [f"{spread}-{i}" for i in range(24)]
    for group in groups:
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": group})
        consumer.commit(offsets=[TopicPartition(spread, 0, 0)], asynchronous=False)
        consumer.close()
    described = admin.describe_consumer_groups(groups)
    assert {described[group].result(SECONDS).coordinator.id for group in groups} == {1, 2, 3}
    listed = admin.list_consumer_groups().result(SECONDS)
    assert set(groups) <= {group.group_id for group in listed.valid}


def test_java_describes_what_is_there(cluster: Broker, spread: str) -> None:
    described = run_tool(
        "kafka-topics", "--bootstrap-server", cluster.bootstrap, "--describe", "--topic", spread
    )
    assert described.status == 0, described
    assert f"PartitionCount: {PARTITIONS}\tReplicationFactor: 3" in described.output
    for line in described.lines[1:]:
        replicas, in_sync = (
            sorted(line.split(name)[1].split("\t")[0].strip().split(","))
            for name in ("Replicas: ", "Isr: ")
        )
        assert replicas == in_sync == ["1", "2", "3"]


def test_who_is_not_the_leader_says_so(cluster: Broker, spread: str) -> None:
    metadata = AdminClient({"bootstrap.servers": cluster.bootstrap}).list_topics(timeout=SECONDS)
    address = {b.id: f"{b.host}:{b.port}" for b in metadata.brokers.values()}
    leader = leaders_of(cluster, spread)[0]

    def produce(node: int) -> tuple[int, int]:
        with RawConnection(address[node]) as connection:
            return produced_v3(connection.ask(produce_v3(spread, record_batch(b"x"))))

    for node in {1, 2, 3} - {leader}:
        assert produce(node) == (NOT_LEADER_OR_FOLLOWER, -1)
    assert produce(leader) == (0, 0)
