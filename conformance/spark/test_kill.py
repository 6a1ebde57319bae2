"""The broker dies by SIGKILL under running queries, and comes back at its old address."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from conformance.conftest import NewBroker
from conformance.harness.broker import Broker
from conformance.spark.client import KEEP, Client, eventually
from conformance.spark.reading import Table, load, running

KILLS = 2


@pytest.fixture
def mortal(new_broker: NewBroker) -> Broker:
    return new_broker()


def test_a_stream_goes_on_after_a_kill(spark: SparkSession, mortal: Broker, topic: str) -> None:
    """Every acknowledged record comes, once, and the query never ends."""
    client = Client(mortal.bootstrap)
    client.create(topic, partitions=2)
    frame = load(spark.readStream, mortal, subscribe=topic, startingOffsets="earliest")
    table = Table(spark, topic)
    with running(table.fed_by(frame)) as query:
        expected: list[int] = []
        for first in range(0, 100 * (KILLS + 1), 100):
            client.send(topic, range(first, first + 50), partition=0)
            client.send(topic, range(first + 50, first + 100), partition=1)
            expected += range(first, first + 100)
            if first < 100 * KILLS:  # at once: the stream has not read all of it
                mortal.kill()
                mortal.start()
        eventually(lambda: table.numbers() == expected, seconds=60)
        assert query.isActive


def test_topic_to_topic_through_a_kill(
    spark: SparkSession, mortal: Broker, topic: str, checkpoint: str
) -> None:
    """Source and sink lose the broker in mid-batch; the sink's producer is idempotent.

    A task that fails is run again by the restarted query, and then writes its rows twice: Spark's
    sink is at-least-once. None may be missing, and the order in a partition is kept.
    """
    source, target = f"{topic}-in", f"{topic}-out"
    client = Client(mortal.bootstrap)
    client.create(source)
    client.create(target)
    client.send(source, range(5_000))
    frame = load(
        spark.readStream,
        mortal,
        subscribe=source,
        startingOffsets="earliest",
        maxOffsetsPerTrigger="500",
    )
    writer = (
        frame.selectExpr("value")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", mortal.bootstrap)
        .option("topic", target)
        .option("checkpointLocation", checkpoint)
    )
    with running(writer) as query:
        eventually(lambda: query.lastProgress is not None)  # the first batch is written
        mortal.kill()
        mortal.start()
        query.processAllAvailable()
        assert query.exception() is None
    assert client.numbers(target) == [*range(5_000)]


def test_batches_after_a_kill(spark: SparkSession, mortal: Broker, topic: str) -> None:
    """Offsets, timestamps and keys are what they were before."""
    client = Client(mortal.bootstrap)
    client.create(topic, **KEEP)
    client.send(topic, range(1_000), key=b"key", compression="zstd", timestamp_ms=1_600_000_000_000)
    frame: DataFrame = load(spark.read, mortal, subscribe=topic)
    before = frame.sort("offset").collect()
    mortal.kill()
    mortal.start()
    assert frame.sort("offset").collect() == before
    assert len(before) == 1_000
