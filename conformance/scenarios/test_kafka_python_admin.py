"""kafka-python: topics, configs, the cluster, groups from the outside."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, OffsetSpec
from kafka.errors import (
    InvalidConfigurationError,
    InvalidPartitionsError,
    InvalidReplicationFactorError,
    InvalidTopicError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
)

from conformance.harness.broker import Broker
from conformance.scenarios.conftest import CreateTopic
from conformance.scenarios.kafka_python_consumer import POLL_MS, subscribed_consumer

SECONDS = 15


@pytest.fixture
def client(broker: Broker) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    yield client
    client.close()


def test_the_life_of_a_topic(client: KafkaAdminClient, topic: str) -> None:
    client.create_topics(
        {topic: {"num_partitions": 3, "configs": {"retention.ms": "12345"}}},
        wait_for_metadata=True,
    )
    assert topic in client.list_topics()
    (described,) = client.describe_topics([topic])
    assert [p["partition_index"] for p in described["partitions"]] == [0, 1, 2]
    assert all(p["replica_nodes"] == p["isr_nodes"] == [1] for p in described["partitions"])
    client.create_partitions({topic: 5})
    wait_until(lambda: len(client.describe_topics([topic])[0]["partitions"]) == 5)
    client.delete_topics([topic])
    wait_until(lambda: topic not in client.list_topics())


def wait_until(done: Any) -> None:
    deadline = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"num_partitions": 0}, InvalidPartitionsError),
        ({"num_partitions": -2}, InvalidPartitionsError),
        ({"replication_factor": 2}, InvalidReplicationFactorError),
        ({"replication_factor": 0}, InvalidReplicationFactorError),
        ({"configs": {"no.such.config": "1"}}, InvalidConfigurationError),
        ({"configs": {"retention.ms": "soon"}}, InvalidConfigurationError),
        ({"configs": {"cleanup.policy": "burn"}}, InvalidConfigurationError),
    ],
    ids=str,
)
@pytest.mark.parametrize("validate_only", [False, True])
def test_what_cannot_be_created(
    client: KafkaAdminClient, topic: str, options: Any, error: Any, validate_only: bool
) -> None:
    with pytest.raises(error):
        client.create_topics({topic: options}, validate_only=validate_only)
    assert topic not in client.list_topics()


@pytest.mark.parametrize("name", ["", ".", "..", "a" * 250, "a b", "ü", "a/b"])
def test_names_that_are_no_topic(client: KafkaAdminClient, name: str) -> None:
    with pytest.raises(InvalidTopicError):
        client.create_topics({name: {"num_partitions": 1}})


def test_names_that_would_meet_in_the_metrics(client: KafkaAdminClient, topic: str) -> None:
    client.create_topics([f"{topic}.a"])
    with pytest.raises(InvalidTopicError):
        client.create_topics([f"{topic}_a"])


def test_a_topic_cannot_be_made_twice(client: KafkaAdminClient, topic: str) -> None:
    client.create_topics([topic])
    with pytest.raises(TopicAlreadyExistsError):
        client.create_topics([topic])
    with pytest.raises(TopicAlreadyExistsError):
        client.create_topics([topic], validate_only=True)


def test_trying_it_out_makes_nothing(client: KafkaAdminClient, topic: str) -> None:
    client.create_topics([topic], validate_only=True)
    assert topic not in client.list_topics()


def test_partitions_only_grow(client: KafkaAdminClient, create_topic: CreateTopic) -> None:
    topic = create_topic(partitions=3)
    for count in (3, 2):
        with pytest.raises(InvalidPartitionsError):
            client.create_partitions({topic: count})


def test_what_is_not_there_cannot_be_changed(client: KafkaAdminClient, topic: str) -> None:
    with pytest.raises(UnknownTopicOrPartitionError):
        client.delete_topics([topic])
    with pytest.raises(UnknownTopicOrPartitionError):
        client.create_partitions({topic: 2})


def test_configs_of_a_topic(client: KafkaAdminClient, create_topic: CreateTopic) -> None:
    topic = create_topic(**{"retention.ms": "12345", "cleanup.policy": "compact,delete"})
    resource = ConfigResource(ConfigResourceType.TOPIC, topic)
    everything = client.describe_configs([resource], config_filter="all")["topic"][topic]
    values = {name: config["value"] for name, config in everything.items()}
    assert values["retention.ms"] == "12345"
    assert values["cleanup.policy"] == "compact,delete"
    expected = {
        "segment.bytes": "1073741824",
        "segment.ms": "604800000",
        "retention.bytes": "-1",
        "index.interval.bytes": "4096",
        "max.message.bytes": "1048588",
        "delete.retention.ms": "86400000",
        "min.cleanable.dirty.ratio": "0.5",
        "min.insync.replicas": "1",
        "compression.type": "producer",
        "message.timestamp.type": "CreateTime",
        "message.timestamp.before.max.ms": "9223372036854775807",
        "message.timestamp.after.max.ms": "3600000",
    }
    assert {name: values.get(name) for name in expected} == expected
    modified = client.describe_configs([resource])["topic"][topic]
    assert {"retention.ms", "cleanup.policy"} <= set(modified)
    assert "segment.bytes" not in modified


def test_configs_of_a_broker(client: KafkaAdminClient) -> None:
    resource = ConfigResource(ConfigResourceType.BROKER, "1")
    configs = client.describe_configs([resource], config_filter="all")["broker"]["1"]
    values = {name: config["value"] for name, config in configs.items()}
    assert values["group.initial.rebalance.delay.ms"] == "0"
    assert values["auto.create.topics.enable"] == "true"
    assert values["num.partitions"] == "1"


def test_the_cluster(client: KafkaAdminClient, broker: Broker) -> None:
    cluster = client.describe_cluster()
    (node,) = cluster["brokers"]
    assert (node["broker_id"], f"{node['host']}:{node['port']}") == (1, broker.bootstrap)
    assert cluster["controller_id"] == 1
    assert len(cluster["cluster_id"]) == 22


def test_partitions_page_by_page(client: KafkaAdminClient, create_topic: CreateTopic) -> None:
    first, second = sorted(create_topic(partitions=3) for _ in range(2))
    seen: list[tuple[str, int]] = []
    cursor = None
    for _ in range(3):
        page = client.describe_topic_partitions(
            [second, first], response_partition_limit=2, cursor=cursor
        )
        seen += [(t["name"], p["partition_index"]) for t in page["topics"] for p in t["partitions"]]
        cursor = page["next_cursor"]
    assert seen == [(name, i) for name in (first, second) for i in range(3)]
    assert cursor is None


def test_offsets_by_specification(client: KafkaAdminClient, create_topic: CreateTopic) -> None:
    partition = TopicPartition(create_topic(), 0)
    for spec in (OffsetSpec.EARLIEST, OffsetSpec.LATEST):
        assert client.list_partition_offsets({partition: spec})[partition].offset == 0
    assert client.list_partition_offsets({partition: OffsetSpec.MAX_TIMESTAMP})[
        partition
    ].offset in (-1, None)


def test_groups_from_the_outside(
    client: KafkaAdminClient, broker: Broker, create_topic: CreateTopic, unique: Any
) -> None:
    topic, group = create_topic(), unique("group")
    consumer = subscribed_consumer(
        topic, bootstrap_servers=broker.bootstrap, group_id=group, heartbeat_interval_ms=100
    )
    wait_until(lambda: consumer.poll(POLL_MS) or consumer.assignment())
    assert (
        consumer.position(TopicPartition(topic, 0)) == 0
    )  # asked for now: it is what is committed
    consumer.commit()
    listed = {found["group_id"]: found for found in client.list_groups()}
    assert listed[group]["protocol_type"] == "consumer"
    described = client.describe_groups([group])[group]
    assert described["group_state"] == "Stable"
    assert len(described["members"]) == 1
    assert client.delete_groups([group]) == {group: "NonEmptyGroupError"}
    consumer.close()
    offsets = client.list_group_offsets({group: None})[group]
    assert offsets[TopicPartition(topic, 0)].offset == 0
    assert client.delete_groups([group]) == {group: "OK"}
    assert group not in {found["group_id"] for found in client.list_groups()}
    assert client.delete_groups([group]) == {group: "GroupIdNotFoundError"}
