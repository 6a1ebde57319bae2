"""kafka-python, any version: `kafka_python.py BOOTSTRAP PREFIX STEP ...`."""

from __future__ import annotations

import time

from kafka import KafkaConsumer, KafkaProducer
from steps import BOOTSTRAP, CODECS, PREFIX, run, same

SECONDS = 30


def take(consumer, count):
    deadline = time.monotonic() + SECONDS
    values = []
    while len(values) < count and time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=200).values():
            values += [record.value for record in records]
    return values


def consumer_of(topic, **options):
    options = {"auto_offset_reset": "earliest", "enable_auto_commit": False, **options}
    consumer = KafkaConsumer(bootstrap_servers=BOOTSTRAP, **options)
    # its version 3 may miss a topic that it is told of too early: it hangs, on any broker
    consumer.partitions_for_topic(topic)
    consumer.subscribe([topic])
    return consumer


def produce(codec):
    topic = f"{PREFIX}-{codec}"
    compression = None if codec == "none" else codec
    producer = KafkaProducer(bootstrap_servers=BOOTSTRAP, acks="all", compression_type=compression)
    sent = [producer.send(topic, key=b"k", value=b"%d" % n * 100) for n in range(10)]
    same([future.get(SECONDS).offset for future in sent], list(range(10)))
    producer.close()
    consumer = consumer_of(topic, group_id=f"{topic}-group")
    same(take(consumer, 10), [b"%d" % n * 100 for n in range(10)])
    consumer.close()


def group():
    topic = f"{PREFIX}-group"
    producer = KafkaProducer(bootstrap_servers=BOOTSTRAP)
    for sent in (b"first", b"second"):
        producer.send(topic, sent).get(SECONDS)
        consumer = consumer_of(topic, group_id=topic)
        same(take(consumer, 1), [sent])
        consumer.commit()
        consumer.close()
    producer.close()


def transactions():
    topic = f"{PREFIX}-transactions"
    producer = KafkaProducer(bootstrap_servers=BOOTSTRAP, transactional_id=topic)
    producer.init_transactions()
    for end, value in (("abort", b"no"), ("commit", b"yes")):
        producer.begin_transaction()
        producer.send(topic, value).get(SECONDS)
        getattr(producer, f"{end}_transaction")()
    producer.close()
    consumer = consumer_of(topic, group_id=topic, isolation_level="read_committed")
    same(take(consumer, 1), [b"yes"])
    consumer.close()


run(
    {f"produce {codec}": (produce, codec) for codec in CODECS},
    group=group,
    transactions=transactions,
)
