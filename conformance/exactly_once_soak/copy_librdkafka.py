"""A worker: copies `input` to `output` in transactions, in a group, with librdkafka. Run as a
module.

Every so often it aborts what it has written, marked as such: nobody may ever read that.
"""

from __future__ import annotations

import random
import sys

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

ABORTED = b"aborted:"
BATCH = 50
SECONDS = 20


def main(bootstrap: str, source: str, target: str, group: str, transactional_id: str) -> None:
    """Copy until killed; ends by itself when fenced."""
    patient = {
        "bootstrap.servers": bootstrap,
        "reconnect.backoff.max.ms": 500,
        # Not "rebootstrap": see README.md.
        "metadata.recovery.strategy": "none",
        "log_level": 0,
    }
    producer = Producer({**patient, "transactional.id": transactional_id, "linger.ms": 1})
    producer.init_transactions(SECONDS)
    consumer = Consumer(
        {
            **patient,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "session.timeout.ms": 6000,
        }
    )
    consumer.subscribe([source])
    while True:
        messages = [each for each in consumer.consume(BATCH, 0.3) if each.error() is None]
        if messages:
            copy(consumer, producer, messages, target)


def copy(consumer: Consumer, producer: Producer, messages: list[Message], target: str) -> None:
    """One transaction; what is not committed is read again."""
    aborts = random.random() < 0.2
    ends: dict[tuple[str, int], int] = {}
    try:
        producer.begin_transaction()
        for message in messages:
            value = message.value() or b""
            partition = message.partition()
            producer.produce(target, ABORTED + value if aborts else value, partition=partition)
            ends[message.topic(), partition] = message.offset() + 1
        offsets = [TopicPartition(topic, index, end) for (topic, index), end in ends.items()]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), SECONDS)
        if aborts:
            producer.flush(SECONDS)
            again(producer, producer.abort_transaction)
            rewind(consumer)
        else:
            again(producer, producer.commit_transaction)
    except KafkaException as failure:
        if not failure.args[0].txn_requires_abort():
            raise
        again(producer, producer.abort_transaction)
        rewind(consumer)


def again(producer: Producer, end: object) -> None:
    """End a transaction; as long as that may be tried again, it is."""
    while True:
        try:
            end(SECONDS)
        except KafkaException as failure:
            if not failure.args[0].retriable():
                raise
        else:
            return


def rewind(consumer: Consumer) -> None:
    """Go on from what is committed."""
    for committed in consumer.committed(consumer.assignment(), SECONDS):
        committed.offset = max(committed.offset, 0)
        try:
            consumer.seek(committed)
        except KafkaException as failure:
            # The group took the partition away meanwhile.
            if failure.args[0].code() != KafkaError._STATE:
                raise


if __name__ == "__main__":
    main(*sys.argv[1:])
