"""confluent-kafka, which is librdkafka: producing and consuming."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from conformance.harness.broker import Broker
from conformance.scenarios.conftest import CreateTopic

SECONDS = 15


def produce_all(
    broker: Broker, topic: str, records: list[dict[str, Any]], **options: Any
) -> list[Message]:
    """Produce them. Returns the delivery reports' messages in order, or raises the first error."""
    delivered: list[Message] = []

    def report(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            raise KafkaException(error)
        delivered.append(message)

    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap,
            **{k.replace("_", "."): options[k] for k in options},
        }
    )
    for record in records:
        producer.produce(topic, on_delivery=report, **record)
    assert producer.flush(SECONDS) == 0
    return delivered


@pytest.fixture
def consume(broker: Broker, closing: ExitStack, unique: Any) -> Callable[..., Consumer]:
    def start(**options: Any) -> Consumer:
        config = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": unique("group"),
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "topic.metadata.refresh.interval.ms": 500,
            **{name.replace("_", "."): value for name, value in options.items()},
        }
        consumer = Consumer(config)
        closing.callback(consumer.close)
        return consumer

    return start


def take(consumer: Consumer, count: int) -> list[Message]:
    deadline = time.monotonic() + SECONDS
    messages: list[Message] = []
    while len(messages) < count:
        assert time.monotonic() < deadline, f"{len(messages)} of {count} came"
        if (message := consumer.poll(0.2)) is not None:
            if message.error():
                raise KafkaException(message.error())
            messages.append(message)
    return messages


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec(broker: Broker, consume: Any, create_topic: CreateTopic, codec: str) -> None:
    topic = create_topic()
    values = [f"value {i} ".encode() * 20 for i in range(200)]
    produce_all(broker, topic, [{"value": v} for v in values], compression_type=codec)
    consumer = consume()
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    messages = take(consumer, len(values))
    assert [message.value() for message in messages] == values
    assert [message.offset() for message in messages] == list(range(len(values)))


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acknowledgement(
    broker: Broker, consume: Any, create_topic: CreateTopic, acks: str
) -> None:
    topic = create_topic()
    delivered = produce_all(broker, topic, [{"value": str(i)} for i in range(5)], acks=acks)
    assert len(delivered) == 5
    consumer = consume()
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert [message.value() for message in take(consumer, 5)] == [b"0", b"1", b"2", b"3", b"4"]


def test_everything_of_a_record_comes_back(
    broker: Broker, consume: Any, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    headers = [("a", b"1"), ("a", b"2"), ("empty", b""), ("null", None)]
    produce_all(
        broker,
        topic,
        [
            {"value": b"v", "key": b"k", "headers": headers, "timestamp": 1234567890123},
            {"value": b"no key"},
            {"value": None, "key": b"tombstone"},
        ],
        enable_idempotence=True,
    )
    consumer = consume()
    consumer.assign([TopicPartition(topic, 0, 0)])
    full, no_key, tombstone = take(consumer, 3)
    assert (full.key(), full.value(), full.timestamp()) == (b"k", b"v", (1, 1234567890123))
    assert full.headers() == headers
    assert (no_key.key(), no_key.value(), no_key.headers()) == (None, b"no key", None)
    assert (tombstone.key(), tombstone.value()) == (b"tombstone", None)


def test_the_brokers_own_time(broker: Broker, consume: Any, create_topic: CreateTopic) -> None:
    topic = create_topic(**{"message.timestamp.type": "LogAppendTime"})
    before = int(time.time() * 1000)
    (delivered,) = produce_all(broker, topic, [{"value": b"v", "timestamp": 1000}])
    consumer = consume()
    consumer.assign([TopicPartition(topic, 0, 0)])
    (message,) = take(consumer, 1)
    kind, timestamp = message.timestamp()
    assert kind == 2
    assert before - 1000 <= timestamp <= int(time.time() * 1000) + 1000
    assert delivered.timestamp() == (2, timestamp)


def test_positions(broker: Broker, consume: Any, create_topic: CreateTopic) -> None:
    topic = create_topic()
    records = [{"value": b"", "timestamp": 1_000_000 + i * 1000} for i in range(10)]
    produce_all(broker, topic, records)
    consumer = consume()
    partition = TopicPartition(topic, 0)
    assert consumer.get_watermark_offsets(partition, SECONDS) == (0, 10)

    def at(timestamp: int) -> int:
        asked = [TopicPartition(topic, 0, timestamp)]
        return consumer.offsets_for_times(asked, SECONDS)[0].offset

    assert [at(t) for t in (0, 1_004_000, 1_004_001)] == [0, 4, 5]
    assert at(2_000_000) == OFFSET_END
    consumer.assign([TopicPartition(topic, 0, 7)])
    assert [message.offset() for message in take(consumer, 3)] == [7, 8, 9]
    consumer.assign([TopicPartition(topic, 0, OFFSET_END)])
    assert consumer.poll(0.5) is None
    produce_all(broker, topic, [{"value": b"new"}])
    assert take(consumer, 1)[0].offset() == 10


def test_the_end_of_a_partition_is_told(
    broker: Broker, consume: Any, create_topic: CreateTopic
) -> None:
    topic = create_topic()
    produce_all(broker, topic, [{"value": b"v"}])
    consumer = consume(enable_partition_eof=True)
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert take(consumer, 1)[0].value() == b"v"
    with pytest.raises(KafkaException) as raised:
        take(consumer, 1)
    assert raised.value.args[0].code() == KafkaError._PARTITION_EOF


def test_an_offset_out_of_range(broker: Broker, consume: Any, create_topic: CreateTopic) -> None:
    topic = create_topic()
    produce_all(broker, topic, [{"value": b"v"}])
    consumer = consume(auto_offset_reset="error")
    consumer.assign([TopicPartition(topic, 0, 100)])
    with pytest.raises(KafkaException) as raised:
        take(consumer, 1)
    assert raised.value.args[0].code() == KafkaError._AUTO_OFFSET_RESET


def test_large_batches_and_small_fetches(
    broker: Broker, consume: Any, create_topic: CreateTopic
) -> None:
    topic = create_topic(partitions=2)
    records = [{"value": f"{i:01000d}", "partition": i % 2} for i in range(6000)]
    produce_all(broker, topic, records, batch_size=900_000, linger_ms=100)
    consumer = consume(fetch_message_max_bytes=2000)
    consumer.assign([TopicPartition(topic, i, 0) for i in range(2)])
    messages = take(consumer, 6000)
    for partition in range(2):
        numbers = [int(m.value() or b"") for m in messages if m.partition() == partition]
        assert numbers == list(range(partition, 6000, 2))


def test_one_too_large(broker: Broker, create_topic: CreateTopic) -> None:
    topic = create_topic(**{"max.message.bytes": "1000"})
    with pytest.raises(KafkaException) as raised:
        produce_all(broker, topic, [{"value": bytes(10_000)}])
    assert raised.value.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE


def test_a_compacted_topic_needs_keys(broker: Broker, create_topic: CreateTopic) -> None:
    topic = create_topic(**{"cleanup.policy": "compact"})
    with pytest.raises(KafkaException) as raised:
        produce_all(broker, topic, [{"value": b"no key"}])
    assert raised.value.args[0].code() == KafkaError.INVALID_RECORD
    assert len(produce_all(broker, topic, [{"value": b"v", "key": b"k"}])) == 1


def test_a_topic_comes_into_being_when_it_is_written_to(
    broker: Broker, consume: Any, topic: str
) -> None:
    assert produce_all(broker, topic, [{"value": b"first"}])[0].offset() == 0
    consumer = consume()
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert take(consumer, 1)[0].value() == b"first"


def test_reading_does_not_make_a_topic(consume: Any, topic: str, admin: AdminClient) -> None:
    consumer = consume()
    consumer.subscribe([topic])
    with pytest.raises(KafkaException) as raised:
        take(consumer, 1)
    assert raised.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert topic not in admin.list_topics(timeout=SECONDS).topics


def test_many_topics_at_once(broker: Broker, consume: Any, create_topic: CreateTopic) -> None:
    topics = [create_topic(partitions=3) for _ in range(10)]
    for topic in topics:
        produce_all(broker, topic, [{"value": topic, "partition": i} for i in range(3)])
    consumer = consume()
    consumer.assign([TopicPartition(topic, i, 0) for topic in topics for i in range(3)])
    messages = take(consumer, 30)
    assert sorted(m.topic() or "" for m in messages) == sorted(topics * 3)
    assert all((m.value() or b"").decode() == m.topic() for m in messages)
