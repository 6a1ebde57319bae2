"""kafka-python: consumer groups."""

import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition

from conformance.harness.broker import Broker
from conformance.harness.process import start_process
from conformance.scenarios.conftest import CreateTopic
from conformance.scenarios.kafka_python_consumer import POLL_MS, subscribed_consumer

SECONDS = 15
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def join(broker: Broker, closing: ExitStack) -> Callable[..., KafkaConsumer]:
    def start(group: str, topic: str, **options: Any) -> KafkaConsumer:
        consumer = subscribed_consumer(
            topic,
            bootstrap_servers=broker.bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=100,
            **options,
        )
        closing.callback(consumer.close)
        return consumer

    return start


def fill(broker: Broker, topic: str, partitions: int, count: int) -> None:
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap)
    for i in range(count):
        producer.send(topic, str(i).encode(), partition=i % partitions)
    producer.flush(SECONDS)
    producer.close()


def poll_until(consumers: list[KafkaConsumer], done: Callable[[], bool]) -> list[Any]:
    """Poll them all in turn until it is done; what they got."""
    deadline = time.monotonic() + SECONDS
    records = []
    while not done():
        assert time.monotonic() < deadline, [consumer.assignment() for consumer in consumers]
        for consumer in consumers:
            records += [r for batch in consumer.poll(POLL_MS).values() for r in batch]
    return records


def test_members_share_the_partitions_and_inherit_them(
    join: Any, broker: Broker, create_topic: CreateTopic, unique: Any
) -> None:
    topic, group = create_topic(partitions=4), unique("group")
    fill(broker, topic, 4, 40)
    everything = {TopicPartition(topic, i) for i in range(4)}
    first = join(group, topic)
    poll_until([first], lambda: first.assignment() == everything)
    second = join(group, topic)
    both = [first, second]
    poll_until(both, lambda: [len(c.assignment()) for c in both] == [2, 2])
    assert first.assignment() | second.assignment() == everything
    second.close()
    poll_until([first], lambda: first.assignment() == everything)


def test_a_group_goes_on_where_it_committed(
    join: Any, broker: Broker, create_topic: CreateTopic, unique: Any
) -> None:
    topic, group = create_topic(), unique("group")
    partition = TopicPartition(topic, 0)
    fill(broker, topic, 1, 10)
    first = join(group, topic)
    records: list[Any] = []
    poll_until([first], lambda: first.assignment() == {partition})
    assert first.committed(partition) is None
    first.seek(partition, 0)
    while len(records) < 10:
        records += [r for batch in first.poll(POLL_MS).values() for r in batch]
    first.commit({partition: OffsetAndMetadata(6, "half ümlaut", -1)})
    first.close()
    second = join(group, topic, consumer_timeout_ms=SECONDS * 1000)
    assert next(second).offset == 6
    assert second.committed(partition) == 6
    assert second.committed(partition, metadata=True).metadata == "half ümlaut"


def test_offsets_can_be_kept_without_being_a_member(
    broker: Broker, closing: ExitStack, create_topic: CreateTopic, unique: Any
) -> None:
    topic, group = create_topic(partitions=2), unique("group")
    partitions = [TopicPartition(topic, i) for i in range(2)]
    for expected in (None, 3):
        consumer = KafkaConsumer(
            bootstrap_servers=broker.bootstrap, group_id=group, enable_auto_commit=False
        )
        closing.callback(consumer.close)
        consumer.assign(partitions)
        assert consumer.committed(partitions[1]) == expected
        assert consumer.committed(partitions[0]) is None
        consumer.commit({partitions[1]: OffsetAndMetadata(3, "", -1)})


MEMBER = """
import sys, time
from conformance.scenarios.kafka_python_consumer import POLL_MS, subscribed_consumer
consumer = subscribed_consumer(sys.argv[1], bootstrap_servers=sys.argv[2], group_id=sys.argv[3],
                               session_timeout_ms=6000)
while not consumer.assignment():
    consumer.poll(POLL_MS)
print("assigned", flush=True)
time.sleep(3600)
"""


def test_a_member_that_died_is_given_up(
    join: Any, broker: Broker, closing: ExitStack, create_topic: CreateTopic, unique: Any
) -> None:
    """It holds its partitions until its session times out, and not longer."""
    topic, group = create_topic(partitions=2), unique("group")
    member = start_process(
        [sys.executable, "-c", MEMBER, topic, broker.bootstrap, group],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with member:
        closing.callback(member.kill)
        assert member.stdout is not None
        assert member.stdout.readline() == "assigned\n"
        member.kill()
    started = time.monotonic()
    second = join(group, topic, session_timeout_ms=6000)
    poll_until([second], lambda: len(second.assignment()) == 2)
    assert 3 < time.monotonic() - started < 12


def test_subscribing_by_pattern(
    broker: Broker, closing: ExitStack, create_topic: CreateTopic, unique: Any
) -> None:
    topic = create_topic()
    create_topic()
    fill(broker, topic, 1, 3)
    consumer = KafkaConsumer(
        bootstrap_servers=broker.bootstrap,
        group_id=unique("group"),
        auto_offset_reset="earliest",
        consumer_timeout_ms=SECONDS * 1000,
    )
    closing.callback(consumer.close)
    consumer.topics()  # for the reason given in kafka_python_consumer.py
    consumer.subscribe(pattern=f"^{topic}$")
    assert next(consumer).topic == topic


def test_a_static_member_keeps_its_partitions_over_a_restart(
    join: Any, broker: Broker, create_topic: CreateTopic, unique: Any
) -> None:
    topic, group = create_topic(partitions=2), unique("group")
    members = [join(group, topic, group_instance_id=name) for name in ("one", "two")]
    poll_until(members, lambda: [len(c.assignment()) for c in members] == [1, 1])
    kept = [consumer.assignment() for consumer in members]
    generation = members[0].group_metadata().generation_id
    members[1].close()
    members[1] = join(group, topic, group_instance_id="two")
    poll_until(members, lambda: len(members[1].assignment()) == 1)
    assert [consumer.assignment() for consumer in members] == kept
    assert members[0].group_metadata().generation_id == generation
