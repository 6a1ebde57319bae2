"""kafka-python: producing and consuming."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import MessageSizeTooLargeError

from conformance.harness.broker import Broker
from conformance.scenarios.conftest import CreateTopic
from conformance.scenarios.kafka_python_consumer import subscribed_consumer

SECONDS = 15


@pytest.fixture
def produce(broker: Broker, closing: ExitStack) -> Callable[..., KafkaProducer]:
    def start(**options: Any) -> KafkaProducer:
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap, **options)
        closing.callback(producer.close, SECONDS)
        return producer

    return start


@pytest.fixture
def consume(broker: Broker, closing: ExitStack) -> Callable[..., KafkaConsumer]:
    def start(*topics: str, **options: Any) -> KafkaConsumer:
        defaults = {"auto_offset_reset": "earliest", "consumer_timeout_ms": SECONDS * 1000}
        consumer = subscribed_consumer(
            *topics, bootstrap_servers=broker.bootstrap, **{**defaults, **options}
        )
        closing.callback(consumer.close)
        return consumer

    return start


def take(consumer: KafkaConsumer, count: int) -> list[Any]:
    """The next records; fewer when they do not come in time."""
    records = []
    for record in consumer:
        records.append(record)
        if len(records) == count:
            break
    return records


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(produce: Any, consume: Any, create_topic: CreateTopic, codec: str) -> None:
    topic = create_topic()
    values = [f"value {i} ".encode() * 20 for i in range(200)]
    producer = produce(compression_type=codec, linger_ms=20)
    for value in values:
        producer.send(topic, value)
    producer.flush(SECONDS)
    records = take(consume(topic), len(values))
    assert [record.value for record in records] == values
    assert [record.offset for record in records] == list(range(len(values)))


def test_everything_of_a_record_comes_back(
    produce: Any, consume: Any, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    headers = [("a", b"1"), ("a", b"2"), ("empty", b""), ("ümlaut", bytes(range(256)))]
    producer = produce()
    producer.send(topic, b"v", key=b"k", headers=headers, timestamp_ms=1234567890123)
    producer.send(topic, b"no key")
    producer.send(topic, None, key=b"tombstone")
    producer.send(topic, b"", key=b"")
    producer.flush(SECONDS)
    full, no_key, tombstone, empty = take(consume(topic), 4)
    assert (full.key, full.value, full.timestamp, full.timestamp_type) == (
        b"k",
        b"v",
        1234567890123,
        0,
    )
    assert list(full.headers) == headers
    assert (no_key.key, no_key.value) == (None, b"no key")
    assert (tombstone.key, tombstone.value) == (b"tombstone", None)
    assert (empty.key, empty.value) == (b"", b"")


def test_a_key_stays_in_its_partition_and_in_order(
    produce: Any, consume: Any, create_topic: CreateTopic
) -> None:
    topic = create_topic(partitions=4)
    producer = produce(linger_ms=5)
    sent = [(f"key-{i % 17}".encode(), str(i).encode()) for i in range(1700)]
    for key, value in sent:
        producer.send(topic, value, key=key)
    producer.flush(SECONDS)
    records = take(consume(topic), len(sent))
    partition_of: dict[bytes, set[int]] = {}
    values_of: dict[bytes, list[bytes]] = {}
    for record in records:
        partition_of.setdefault(record.key, set()).add(record.partition)
        values_of.setdefault(record.key, []).append(record.value)
    assert all(len(partitions) == 1 for partitions in partition_of.values())
    assert set().union(*partition_of.values()) == {0, 1, 2, 3}
    assert values_of == {key: [v for k, v in sent if k == key] for key, _ in sent}


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_kind_of_acknowledgement(
    produce: Any, consume: Any, create_topic: CreateTopic, acks: int | str
) -> None:
    topic = create_topic()
    producer = produce(acks=acks, enable_idempotence=False)
    offsets = [producer.send(topic, str(i).encode()).get(SECONDS).offset for i in range(5)]
    if acks != 0:  # nobody tells the offsets to who wants no answer
        assert offsets == list(range(5))
    assert [record.value for record in take(consume(topic), 5)] == [b"0", b"1", b"2", b"3", b"4"]


def test_latest_sees_only_what_comes_after(
    produce: Any, consume: Any, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    partition = TopicPartition(topic, 0)
    producer = produce()
    producer.send(topic, b"before").get(SECONDS)
    consumer = consume(auto_offset_reset="latest")
    consumer.assign([partition])
    assert consumer.position(partition) == 1
    producer.send(topic, b"after").get(SECONDS)
    (record,) = take(consumer, 1)
    assert (record.offset, record.value) == (1, b"after")


def test_offsets_for_times(produce: Any, consume: Any, create_topic: CreateTopic) -> None:
    topic = create_topic()
    partition = TopicPartition(topic, 0)
    producer = produce()
    for i in range(10):
        producer.send(topic, str(i).encode(), timestamp_ms=1_000_000 + i * 1000)
        producer.flush(SECONDS)
    consumer = consume()
    consumer.assign([partition])

    def at(timestamp_ms: int) -> tuple[int, int] | None:
        found = consumer.offsets_for_times({partition: timestamp_ms})[partition]
        return found and (found.offset, found.timestamp)

    assert at(0) == (0, 1_000_000)
    assert at(1_004_000) == (4, 1_004_000)
    assert at(1_004_001) == (5, 1_005_000)
    assert at(1_009_001) is None
    assert consumer.beginning_offsets([partition]) == {partition: 0}
    assert consumer.end_offsets([partition]) == {partition: 10}
    consumer.seek(partition, 7)
    assert [record.offset for record in take(consumer, 3)] == [7, 8, 9]
    consumer.seek_to_beginning(partition)
    assert take(consumer, 1)[0].offset == 0


def test_an_offset_that_is_not_there_is_reset(
    produce: Any, consume: Any, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    partition = TopicPartition(topic, 0)
    produce().send(topic, b"only").get(SECONDS)
    consumer = consume(auto_offset_reset="earliest")
    consumer.assign([partition])
    consumer.seek(partition, 1000)
    assert take(consumer, 1)[0].offset == 0


def test_a_topic_comes_into_being_when_it_is_written_to(
    produce: Any, consume: Any, topic: str
) -> None:
    produce().send(topic, b"first").get(SECONDS)
    consumer = consume(topic)
    assert [record.value for record in take(consumer, 1)] == [b"first"]
    assert consumer.partitions_for_topic(topic) == {0}


def test_a_large_record_and_one_too_large(
    produce: Any, consume: Any, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    large = bytes(1_000_000)
    producer = produce(max_request_size=4_000_000)
    assert producer.send(topic, large).get(SECONDS).offset == 0
    with pytest.raises(MessageSizeTooLargeError):
        producer.send(topic, bytes(2_000_000)).get(SECONDS)
    small_fetches = consume(topic, max_partition_fetch_bytes=1000, fetch_max_bytes=1000)
    assert take(small_fetches, 1)[0].value == large


def test_many_small_fetches_read_everything_once(
    produce: Any, consume: Any, create_topic: CreateTopic
) -> None:
    topic = create_topic(partitions=3)
    producer = produce(batch_size=1000)
    for i in range(3000):
        producer.send(topic, f"{i:0100d}".encode(), partition=i % 3)
    producer.flush(SECONDS)
    consumer = consume(topic, max_partition_fetch_bytes=5000, fetch_max_bytes=12_000)
    numbers = [int(record.value) for record in take(consumer, 3000)]
    assert sorted(numbers) == list(range(3000))
    assert [n for n in numbers if n % 3 == 1] == list(range(1, 3000, 3))


def test_producers_are_told_apart(produce: Any, consume: Any, create_topic: CreateTopic) -> None:
    topic = create_topic()
    producers = [produce(enable_idempotence=True) for _ in range(3)]
    for i in range(30):
        producers[i % 3].send(topic, str(i).encode())
    for producer in producers:
        producer.flush(SECONDS)
    values = [int(record.value) for record in take(consume(topic), 30)]
    for i in range(3):
        assert [value for value in values if value % 3 == i] == list(range(i, 30, 3))


def test_a_topic_comes_into_being_when_it_is_asked_for(
    consume: Any, topic: str, admin: AdminClient
) -> None:
    """This client allows it in its Metadata requests, unlike librdkafka."""
    consumer = consume(topic)
    deadline = time.monotonic() + SECONDS
    while topic not in admin.list_topics(timeout=SECONDS).topics:
        consumer.poll(50)
        assert time.monotonic() < deadline
