"""librdkafka, through confluent-kafka: every codec, a group that commits, transactions with
offsets."""

from __future__ import annotations

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

SECONDS = 30


def made(bootstrap: str, topic: str, partitions: int = 2) -> str:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(SECONDS)
    return topic


def run(bootstrap: str, name: str) -> None:
    """Every codec, a group that commits, a transaction."""
    topic = made(bootstrap, name)
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec})
        producer.produce(topic, f"value {codec}" * 9, key="k")
        assert producer.flush(SECONDS) == 0
    transactional = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    transactional.init_transactions(SECONDS)
    for commit in (True, False):
        transactional.begin_transaction()
        transactional.produce(topic, "in a transaction", key="k")
        if commit:
            offsets = [TopicPartition(topic, 0, 1)]
            consumer = consuming(bootstrap, name)
            metadata = consumer.consumer_group_metadata()
            transactional.send_offsets_to_transaction(offsets, metadata, SECONDS)
            transactional.commit_transaction(SECONDS)
            consumer.close()
        else:
            transactional.abort_transaction(SECONDS)
    consumer = consuming(bootstrap, f"{name}-group")
    consumer.subscribe([topic])
    for _ in range(6):
        message = consumer.poll(SECONDS)
        assert message is not None
        assert message.error() is None
    consumer.commit(asynchronous=False)
    consumer.close()


def consuming(bootstrap: str, group: str) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
