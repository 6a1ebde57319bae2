"""Killed and started again: what was acknowledged is there, and clients go on by themselves."""

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, ResourceType

from conformance.differential.wait_ready import wait_for_coordinators
from conformance.harness.broker import Broker

SECONDS = 30
# Settings of a patient client that comes back soon to a broker that was away.
RECONNECT = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 500, "log_level": 0}


def create(broker: Broker, topic: str, partitions: int, **configs: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, **RECONNECT})
    admin.create_topics([NewTopic(topic, partitions, 1, config=configs)])[topic].result(SECONDS)


def read(broker: Broker, topic: str, partitions: int = 1) -> list[Message]:
    """Everything in the topic, each partition to its end."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "reader",
            "enable.partition.eof": True,
            "enable.auto.commit": False,
        }
    )
    consumer.assign([TopicPartition(topic, i, 0) for i in range(partitions)])
    messages, at_end = [], set()
    deadline = time.monotonic() + SECONDS
    while len(at_end) < partitions:
        assert time.monotonic() < deadline
        if (message := consumer.poll(0.2)) is None:
            continue
        if (error := message.error()) is None:
            messages.append(message)
        elif error.code() == KafkaError._PARTITION_EOF:
            at_end.add(message.partition())
    consumer.close()
    return messages


class Writer(threading.Thread):
    """Produces numbers without pause, and keeps those that were acknowledged."""

    def __init__(self, broker: Broker, topic: str, partitions: int, **options: Any) -> None:
        super().__init__()
        self.topic, self.partitions = topic, partitions
        self.acknowledged: list[int] = []
        self.failed: list[int] = []
        self.enough = threading.Event()
        self.producer = Producer(
            {"bootstrap.servers": broker.bootstrap, "acks": "all", **RECONNECT, **options}
        )

    def run(self) -> None:
        number = 0
        while not self.enough.is_set():
            self.producer.produce(
                self.topic,
                str(number),
                partition=number % self.partitions,
                on_delivery=self.reporter(number),
            )
            self.producer.poll(0.001)
            number += 1
        assert self.producer.flush(SECONDS) == 0

    def reporter(self, number: int) -> Callable[[KafkaError | None, Message], None]:
        def report(error: KafkaError | None, message: Message) -> None:
            (self.acknowledged if error is None else self.failed).append(number)

        return report

    def wait_for(self, count: int) -> None:
        deadline = time.monotonic() + SECONDS
        while len(self.acknowledged) < count:
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.mark.parametrize("end", ["kill", pytest.param("stop", marks=pytest.mark.long)])
def test_nothing_acknowledged_is_lost_and_nothing_comes_twice(
    new_broker: Callable[[], Broker], topic: str, end: str
) -> None:
    broker = new_broker()
    create(broker, topic, 3)
    writer = Writer(broker, topic, 3, **{"enable.idempotence": True})
    writer.start()
    for round_number in range(1, 3):
        writer.wait_for(500 * round_number)
        getattr(broker, end)()
        broker.start()
    writer.wait_for(len(writer.acknowledged) + 200)
    writer.enough.set()
    writer.join()
    assert writer.failed == []
    numbers: dict[int, list[int]] = {0: [], 1: [], 2: []}
    for message in read(broker, topic, 3):
        numbers[message.partition() or 0].append(int(message.value() or b""))
    count = len(writer.acknowledged)
    assert numbers == {i: list(range(i, count, 3)) for i in range(3)}


def test_what_was_written_stays_where_it_was(new_broker: Callable[[], Broker], topic: str) -> None:
    """Topics with their ids and configs, records with their offsets, commits, auto-created ones."""
    broker = new_broker()
    create(broker, topic, 2, **{"retention.ms": "99999999"})
    create(broker, f"{topic}-deleted", 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for i in range(100):
        producer.produce(topic, str(i), partition=i % 2)
    producer.produce(f"{topic}-auto", "auto")
    assert producer.flush(SECONDS) == 0
    group = f"{topic}-group"
    commit(broker, group, topic, 33)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.delete_topics([f"{topic}-deleted"])[f"{topic}-deleted"].result(SECONDS)
    wait_for_coordinators(broker)
    before = facts(broker, topic, group)
    assert before["committed"] == 33
    assert before["retention.ms"] == "99999999"
    broker.kill()
    broker.start()
    wait_for_coordinators(broker)
    assert facts(broker, topic, group) == before
    commit(broker, group, topic, 44)
    producer.produce(topic, "after", partition=0)
    assert producer.flush(SECONDS) == 0
    assert broker.stop() in (0, 143)  # 143 is how a JVM reports SIGTERM
    broker.start()
    wait_for_coordinators(broker)
    assert committed(broker, group, topic) == 44
    assert [m.offset() for m in read(broker, topic, 2) if m.partition() == 0] == list(range(51))


def commit(broker: Broker, group: str, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 1, offset)], asynchronous=False)
    consumer.close()


def committed(broker: Broker, group: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    (found,) = consumer.committed([TopicPartition(topic, 1)], SECONDS)
    consumer.close()
    return int(found.offset)


def facts(broker: Broker, topic: str, group: str) -> dict[str, Any]:
    """The state that a restart must not change."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    metadata = admin.list_topics(timeout=SECONDS)
    resource = ConfigResource(ResourceType.TOPIC, topic)
    configs = admin.describe_configs([resource])[resource].result(SECONDS)
    names = [f"{topic}{suffix}" for suffix in ("", "-auto")]
    described = admin.describe_topics(TopicCollection(names))
    return {
        "cluster id": metadata.cluster_id,
        "topics": {name: len(t.partitions) for name, t in metadata.topics.items()},
        "topic ids": {name: str(described[name].result(SECONDS).topic_id) for name in names},
        "retention.ms": configs["retention.ms"].value,
        "committed": committed(broker, group, topic),
        "records": sorted(
            (m.partition(), m.offset(), m.value(), m.timestamp()) for m in read(broker, topic, 2)
        ),
        "auto": [m.value() for m in read(broker, f"{topic}-auto")],
    }


def test_a_consumer_goes_on_when_the_broker_is_back(
    new_broker: Callable[[], Broker], topic: str, closing: ExitStack
) -> None:
    broker = new_broker()
    create(broker, topic, 1)
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "group",
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 100,
            "heartbeat.interval.ms": 200,
            **RECONNECT,
        }
    )
    closing.callback(consumer.close)
    consumer.subscribe([topic])
    writer = Writer(broker, topic, 1, **{"enable.idempotence": True})
    writer.start()
    seen: list[int] = []
    deadline = time.monotonic() + 2 * SECONDS
    killed = False
    while not killed or len(seen) < 1500:
        assert time.monotonic() < deadline
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            seen.append(int(message.value() or b""))
        if not killed and len(seen) >= 500:
            broker.kill()
            broker.start()
            killed = True
    writer.enough.set()
    writer.join()
    # at least once: nothing is missing, and what comes again comes in order
    assert sorted(set(seen)) == list(range(max(seen) + 1))
