"""Spark under read_committed: committed rows and nothing else."""

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from conformance.harness.broker import Broker
from conformance.spark.client import SECONDS, Client, transact
from conformance.spark.reading import Table, available_now, load, numbers, running


@pytest.fixture
def producer(client: Client, topic: str) -> Producer:
    client.create(topic)
    return client.transactional_producer(f"of-{topic}")


def test_batch_at_both_isolation_levels(
    spark: SparkSession, broker: Broker, producer: Producer, topic: str
) -> None:
    transact(producer, topic, range(10))
    transact(producer, topic, range(10, 20), commit=False)
    transact(producer, topic, range(20, 30))
    committed = load(spark.read, broker, subscribe=topic, kafka__isolation__level="read_committed")
    assert numbers(committed) == [*range(10), *range(20, 30)]
    assert numbers(load(spark.read, broker, subscribe=topic)) == [*range(30)]


def test_an_open_transaction_is_not_seen(
    spark: SparkSession, broker: Broker, client: Client, producer: Producer, topic: str
) -> None:
    """`latest` is the last stable offset: what comes after an open transaction waits with it."""
    transact(producer, topic, range(5))
    producer.begin_transaction()
    producer.produce(topic, b"5", partition=0)
    assert producer.flush(SECONDS) == 0
    client.send(topic, [6])  # not transactional
    committed = load(spark.read, broker, subscribe=topic, kafka__isolation__level="read_committed")
    assert numbers(committed) == [*range(5)]
    assert numbers(load(spark.read, broker, subscribe=topic)) == [*range(7)]
    producer.commit_transaction(SECONDS)
    assert numbers(committed) == [*range(7)]


def test_micro_batches_over_markers_and_aborted_records(
    spark: SparkSession, broker: Broker, producer: Producer, topic: str, checkpoint: str
) -> None:
    """Three offsets for each trigger, whatever lies at them: the script of Spark's own suite."""
    transact(producer, topic, range(5))  # offsets 0-4, its marker 5
    transact(producer, topic, range(5, 10), commit=False)  # 6-10, 11
    transact(producer, topic, range(10, 15))  # 12-16, 17
    transact(producer, topic, [15])  # 18, 19
    transact(producer, topic, [16])  # 20, 21
    transact(producer, topic, [17, 18])  # 22-23, 24
    frame = load(
        spark.readStream,
        broker,
        subscribe=topic,
        startingOffsets="earliest",
        maxOffsetsPerTrigger="3",
        kafka__isolation__level="read_committed",
    )
    assert available_now(frame, checkpoint) == [
        [0, 1, 2],
        [3, 4],
        [],
        [],
        [12, 13, 14],
        [15, 16],
        [18, 20],
        [22, 23],
        [],
    ]


def test_a_stream_waits_for_the_commit(
    spark: SparkSession, broker: Broker, producer: Producer, topic: str
) -> None:
    frame = load(
        spark.readStream,
        broker,
        subscribe=topic,
        startingOffsets="earliest",
        kafka__isolation__level="read_committed",
    )
    table = Table(spark, topic)
    with running(table.fed_by(frame)) as query:
        producer.begin_transaction()
        for value in range(5):
            producer.produce(topic, str(value).encode(), partition=0)
        assert producer.flush(SECONDS) == 0
        query.processAllAvailable()
        assert table.numbers() == []
        producer.commit_transaction(SECONDS)
        query.processAllAvailable()
        assert table.numbers() == [*range(5)]
        transact(producer, topic, range(5, 10), commit=False)
        query.processAllAvailable()
        assert table.numbers() == [*range(5)]
        transact(producer, topic, range(10, 15))
        query.processAllAvailable()
        assert table.numbers() == [*range(5), *range(10, 15)]
