"""confluent-kafka, which is librdkafka: consumer groups, and groups from the outside."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from conformance.harness.broker import Broker
from conformance.scenarios.conftest import CreateTopic
from conformance.scenarios.polling import poll_until

SECONDS = 15


@pytest.fixture
def join(broker: Broker, closing: ExitStack) -> Callable[..., Consumer]:
    def start(group: str, topics: list[str], **options: Any) -> Consumer:
        config = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 100,
            "topic.metadata.refresh.interval.ms": 500,
            **{name.replace("_", "."): value for name, value in options.items()},
        }
        consumer = Consumer(config)
        closing.callback(consumer.close)
        consumer.subscribe(topics)
        return consumer

    return start


def fill(broker: Broker, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for i in range(count):
        producer.produce(topic, str(i))
    assert producer.flush(SECONDS) == 0


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_members_share_the_partitions_and_inherit_them(
    join: Any, create_topic: CreateTopic, unique: Any, strategy: str
) -> None:
    topic, group = create_topic(partitions=6), unique("group")
    options = {"partition_assignment_strategy": strategy}
    members = [join(group, [topic], **options)]
    poll_until(members, lambda: len(members[0].assignment()) == 6)
    members += [join(group, [topic], **options), join(group, [topic], **options)]
    poll_until(members, lambda: [len(m.assignment()) for m in members] == [2, 2, 2])
    held = {p.partition for member in members for p in member.assignment()}
    assert held == set(range(6))
    members.pop().close()
    poll_until(members, lambda: [len(m.assignment()) for m in members] == [3, 3])


def test_a_group_goes_on_where_it_committed(
    join: Any, broker: Broker, create_topic: CreateTopic, unique: Any
) -> None:
    topic, group = create_topic(), unique("group")
    fill(broker, topic, 10)
    consumer = join(group, [topic])
    messages: list[Any] = []
    while len(messages) < 6:
        messages += poll_until([consumer], lambda: True) or [
            m for m in [consumer.poll(0.2)] if m is not None
        ]
    consumer.commit(message=messages[5], asynchronous=False)
    consumer.close()
    again = join(group, [topic])
    (committed,) = again.committed([TopicPartition(topic, 0)], SECONDS)
    assert committed.offset == 6
    deadline = time.monotonic() + SECONDS
    while (message := again.poll(0.2)) is None:
        assert time.monotonic() < deadline
    assert message.offset() == 6


def test_commits_are_made_in_the_background(
    join: Any, broker: Broker, create_topic: CreateTopic, unique: Any
) -> None:
    topic, group = create_topic(), unique("group")
    fill(broker, topic, 5)
    consumer = join(group, [topic], enable_auto_commit=True, auto_commit_interval_ms=100)
    partition = [TopicPartition(topic, 0)]
    poll_until([consumer], lambda: consumer.committed(partition, SECONDS)[0].offset == 5)


def test_a_new_partition_is_found(
    join: Any, admin: AdminClient, create_topic: CreateTopic, unique: Any
) -> None:
    from confluent_kafka.admin import NewPartitions

    topic, group = create_topic(), unique("group")
    consumer = join(group, [topic])
    poll_until([consumer], lambda: len(consumer.assignment()) == 1)
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(SECONDS)
    poll_until([consumer], lambda: len(consumer.assignment()) == 3)


def test_subscribing_by_pattern_finds_what_comes_later(
    join: Any, create_topic: CreateTopic, unique: Any, admin: AdminClient
) -> None:
    topic, group = create_topic(), unique("group")
    consumer = join(group, [f"^({topic}|{topic}-later)$"])
    poll_until([consumer], lambda: len(consumer.assignment()) == 1)
    from confluent_kafka.admin import NewTopic

    admin.create_topics([NewTopic(f"{topic}-later", 1, 1)])[f"{topic}-later"].result(SECONDS)
    poll_until([consumer], lambda: len(consumer.assignment()) == 2)


def test_groups_from_the_outside(
    join: Any, admin: AdminClient, create_topic: CreateTopic, unique: Any
) -> None:
    topic, group = create_topic(partitions=2), unique("group")
    consumer = join(group, [topic], client_id="me")
    poll_until([consumer], lambda: len(consumer.assignment()) == 2)
    listed = admin.list_consumer_groups().result(SECONDS)
    found = {g.group_id: g.state for g in listed.valid}
    assert found[group] == ConsumerGroupState.STABLE
    description = admin.describe_consumer_groups([group])[group].result(SECONDS)
    assert description.state == ConsumerGroupState.STABLE
    assert description.partition_assignor == "range"
    (member,) = description.members
    assert (member.client_id, member.host) == ("me", "/127.0.0.1")
    assert {p.partition for p in member.assignment.topic_partitions} == {0, 1}
    with pytest.raises(KafkaException) as raised:
        admin.delete_consumer_groups([group])[group].result(SECONDS)
    assert raised.value.args[0].code() == KafkaError.NON_EMPTY_GROUP
    consumer.close()
    admin.delete_consumer_groups([group])[group].result(SECONDS)


def test_offsets_changed_from_the_outside(
    admin: AdminClient, create_topic: CreateTopic, unique: Any
) -> None:
    topic, group = create_topic(partitions=2), unique("group")
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, i, 7 + i) for i in (0, 1)])
    admin.alter_consumer_group_offsets([asked])[group].result(SECONDS)
    everything = ConsumerGroupTopicPartitions(group)
    answer = admin.list_consumer_group_offsets([everything])[group].result(SECONDS)
    assert {(p.partition, p.offset) for p in answer.topic_partitions or []} == {(0, 7), (1, 8)}
