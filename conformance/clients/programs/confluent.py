"""confluent-kafka, any version: `confluent.py BOOTSTRAP PREFIX STEP ...`."""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaException, Producer
from steps import BOOTSTRAP, CODECS, PREFIX, run, same

SECONDS = 30


def consumed(topic, count, **options):
    consumer = Consumer(
        {
            "bootstrap.servers": BOOTSTRAP,
            "group.id": f"{topic}-group",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "allow.auto.create.topics": True,
            **options,
        }
    )
    consumer.subscribe([topic])
    deadline = time.monotonic() + SECONDS
    values = []
    while len(values) < count and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None:
            if message.error():
                raise KafkaException(message.error())
            values.append(message.value())
    consumer.commit(asynchronous=False)
    consumer.close()
    return values


def send(producer, topic, values):
    offsets = []

    def report(error, message):
        if error is not None:
            raise KafkaException(error)
        offsets.append(message.offset())

    for value in values:
        producer.produce(topic, value, b"k", on_delivery=report)
    same(producer.flush(SECONDS), 0)
    return offsets


def produce(codec):
    topic = f"{PREFIX}-{codec}"
    values = [b"%d" % n * 100 for n in range(10)]
    producer = Producer({"bootstrap.servers": BOOTSTRAP, "acks": "all", "compression.type": codec})
    same(send(producer, topic, values), list(range(10)))
    same(consumed(topic, 10), values)


def group():
    topic = f"{PREFIX}-group"
    producer = Producer({"bootstrap.servers": BOOTSTRAP})
    for value in (b"first", b"second"):
        send(producer, topic, [value])
        same(consumed(topic, 1), [value])


def transactions():
    topic = f"{PREFIX}-transactions"
    producer = Producer({"bootstrap.servers": BOOTSTRAP, "transactional.id": topic})
    producer.init_transactions(SECONDS)
    for end, value in (("abort", b"no"), ("commit", b"yes")):
        producer.begin_transaction()
        send(producer, topic, [value])
        getattr(producer, f"{end}_transaction")(SECONDS)
    same(consumed(topic, 1, **{"isolation.level": "read_committed"}), [b"yes"])


run(
    {f"produce {codec}": (produce, codec) for codec in CODECS},
    group=group,
    transactions=transactions,
)
