"""Streams: every record once, across triggers, restarts and new partitions."""

import random

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from conformance.conftest import NewBroker
from conformance.harness.broker import Broker
from conformance.spark.client import KEEP, Client, eventually
from conformance.spark.reading import IMPATIENT, Table, available_now, load, numbers, running


@pytest.mark.parametrize(
    ("how", "fail_on_data_loss"),
    [("assign", "true"), ("subscribe", "false"), ("subscribePattern", "true")],
)
@pytest.mark.parametrize("start", ["earliest", "latest", "offsets"])
def test_start_and_growth(
    spark: SparkSession,
    broker: Broker,
    client: Client,
    topic: str,
    how: str,
    start: str,
    fail_on_data_loss: str,
) -> None:
    """A stream's start, and partitions that are added under it, which are read from their
    beginning."""
    client.create(topic, partitions=2)
    client.send(topic, range(10), partition=0)
    client.send(topic, range(10, 20), partition=1)
    which = {
        "assign": f'{{"{topic}": [0, 1]}}',
        "subscribe": topic,
        "subscribePattern": f"{topic}.*",
    }[how]
    starting = f'{{"{topic}": {{"0": 5, "1": -1}}}}' if start == "offsets" else start
    frame = load(
        spark.readStream,
        broker,
        **{how: which},
        startingOffsets=starting,
        failOnDataLoss=fail_on_data_loss,
    )
    expected = {"earliest": range(20), "latest": range(0), "offsets": range(5, 10)}[start]
    table = Table(spark, topic)
    with running(table.fed_by(frame)) as query:
        query.processAllAvailable()
        assert table.numbers() == [*expected]
        client.send(topic, range(100, 105), partition=1)
        query.processAllAvailable()
        assert table.numbers() == [*expected, *range(100, 105)]
        if how != "assign":
            client.grow(topic, 4)
            client.send(topic, range(200, 205), partition=3)
            eventually(lambda: table.numbers() == [*expected, *range(100, 105), *range(200, 205)])


def test_pattern_finds_new_topics(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    client.create(f"{topic}-1")
    client.send(f"{topic}-1", range(5))
    frame = load(
        spark.readStream, broker, subscribePattern=f"{topic}-\\d", startingOffsets="earliest"
    )
    table = Table(spark, topic)
    with running(table.fed_by(frame)) as query:
        query.processAllAvailable()
        assert table.numbers() == [*range(5)]
        client.create(f"{topic}-2")
        client.create(f"{topic}-other")
        client.send(f"{topic}-2", range(5, 10))
        client.send(f"{topic}-other", range(10, 15))
        eventually(lambda: table.numbers() == [*range(10)])
        assert query.isActive


def test_available_now_in_limited_batches(
    spark: SparkSession, broker: Broker, client: Client, topic: str, checkpoint: str
) -> None:
    client.create(topic, partitions=5)
    client.send(topic, range(15))
    frame = load(
        spark.readStream,
        broker,
        subscribe=topic,
        startingOffsets="earliest",
        maxOffsetsPerTrigger="5",
    )
    batches = available_now(frame, checkpoint)
    assert batches == [[*range(5)], [*range(5, 10)], [*range(10, 15)]]


def test_restart_from_the_checkpoint(
    spark: SparkSession, broker: Broker, client: Client, topic: str, checkpoint: str
) -> None:
    """Nothing twice and nothing left out over three runs of one query."""
    client.create(topic)
    frame = load(spark.readStream, broker, subscribe=topic, startingOffsets="earliest")
    client.send(topic, range(20))
    assert available_now(frame, checkpoint) == [[*range(20)]]
    client.send(topic, range(20, 50))
    assert available_now(frame, checkpoint) == [[*range(20, 50)]]
    assert available_now(frame, checkpoint) == []


def test_limits_are_shared_among_partitions(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    """101, 11 and 1 records, ten for each trigger: 8 + 1 + 1, as in Spark's own suite."""
    client.create(topic, partitions=3)
    client.send(topic, range(100, 201), partition=0)
    client.send(topic, range(10, 21), partition=1)
    client.send(topic, [1], partition=2)
    frame = load(
        spark.readStream,
        broker,
        subscribe=topic,
        startingOffsets="earliest",
        maxOffsetsPerTrigger="10",
    )
    seen: list[set[int]] = []

    def keep(batch: DataFrame, _batch_id: int) -> None:
        seen.append(set(numbers(batch)))

    with running(frame.writeStream.foreachBatch(keep).trigger(availableNow=True)) as query:
        assert query.awaitTermination(90)
    assert seen[0] == {1, 10, *range(100, 108)}
    assert seen[1] == {11, *range(108, 117)}
    assert set().union(*seen) == {1, *range(10, 21), *range(100, 201)}
    assert sum(map(len, seen)) == 113


def test_by_timestamp(
    spark: SparkSession, broker: Broker, client: Client, topic: str, checkpoint: str
) -> None:
    client.create(topic, **KEEP)
    client.send(topic, range(10), timestamp_ms=1_600_000_000_000)
    client.send(topic, range(10, 20), timestamp_ms=1_600_000_001_000)
    frame = load(
        spark.readStream, broker, subscribe=topic, startingTimestamp=str(1_600_000_000_500)
    )
    assert available_now(frame, checkpoint) == [[*range(10, 20)]]


def test_min_partitions(
    spark: SparkSession, broker: Broker, client: Client, topic: str, checkpoint: str
) -> None:
    """Several consumers of one group on one partition, each with a range."""
    client.create(topic)
    client.send(topic, range(1_000))
    frame = load(
        spark.readStream, broker, subscribe=topic, startingOffsets="earliest", minPartitions="6"
    )
    assert available_now(frame, checkpoint) == [[*range(1_000)]]


def test_windows_under_a_watermark(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    """Event time is the record's timestamp: three windows, the last one not closed."""
    client.create(topic)
    base = 1_600_000_000_000
    for minute, count in ((0, 3), (1, 2), (5, 1)):
        client.send(topic, range(count), timestamp_ms=base + 60_000 * minute)
    counts = (
        load(spark.readStream, broker, subscribe=topic, startingOffsets="earliest")
        .withWatermark("timestamp", "1 minute")
        .groupBy(f.window("timestamp", "20 seconds"))
        .count()
        .selectExpr("cast(count AS string) AS value")
    )
    table = Table(spark, topic)
    with running(table.fed_by(counts)) as query:
        query.processAllAvailable()
        assert table.numbers() == [2, 3]


def test_a_self_join_reads_both_sides(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    client.create(topic, partitions=2)
    frame = load(spark.readStream, broker, subscribe=topic, startingOffsets="earliest")
    numbered = frame.selectExpr("cast(cast(value AS string) AS int) AS number")
    joined = numbered.join(numbered, "number").selectExpr("cast(number AS string) AS value")
    client.send(topic, range(5), partition=0)
    client.send(topic, range(5, 10), partition=1)
    table = Table(spark, topic)
    with running(table.fed_by(joined)) as query:
        query.processAllAvailable()
        assert table.numbers() == [*range(10)]


def test_progress_tells_the_lag(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    client.create(topic)
    client.send(topic, range(10))
    frame = load(
        spark.readStream,
        broker,
        subscribe=topic,
        startingOffsets="earliest",
        maxOffsetsPerTrigger="4",
    )
    table = Table(spark, topic)
    with running(table.fed_by(frame).trigger(availableNow=True)) as query:
        assert query.awaitTermination(60)
        sources = [progress["sources"][0] for progress in query.recentProgress]
    assert [source["numInputRows"] for source in sources] == [4, 4, 2]
    lags = [source["metrics"]["maxOffsetsBehindLatest"] for source in sources]
    assert lags == ["6", "2", "0"]


def test_continuous_processing(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    """The continuous trigger: long polls, no micro-batches.

    One partition only: each holds a task slot for ever, and the test needs one to look.
    """
    client.create(topic)
    client.send(topic, range(10))
    frame = load(spark.readStream, broker, subscribe=topic, startingOffsets="earliest")
    table = Table(spark, topic)
    with running(table.fed_by(frame).trigger(continuous="1 second")) as query:
        eventually(lambda: table.numbers() == [*range(10)])
        client.send(topic, range(10, 20))
        eventually(lambda: table.numbers() == [*range(20)])
        assert query.isActive


def test_the_deprecated_offset_reader_joins_a_group(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    """The driver finds offsets through a consumer group, as Spark did before version 3.1."""
    client.create(topic, partitions=2)
    client.send(topic, range(10))
    name = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
    spark.conf.set(name, "true")
    try:
        frame = load(spark.readStream, broker, subscribe=topic, startingOffsets="earliest")
        table = Table(spark, topic)
        with running(table.fed_by(frame)) as query:
            query.processAllAvailable()
            assert table.numbers() == [*range(10)]
            client.send(topic, range(10, 20), partition=1)
            query.processAllAvailable()
            assert table.numbers() == [*range(20)]
        assert numbers(load(spark.read, broker, subscribe=topic)) == [*range(20)]
    finally:
        spark.conf.unset(name)


def test_topics_come_and_go_and_grow(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    """A seeded walk over topics made, grown, filled and deleted: every record once."""
    choose = random.Random(4)
    frame = load(
        spark.readStream,
        broker,
        subscribePattern=f"{topic}-.*",
        startingOffsets="earliest",
        failOnDataLoss="false",
        **IMPATIENT,
    )
    client.create(f"{topic}-0")
    partitions = {f"{topic}-0": 1}
    table = Table(spark, topic)
    sent: list[int] = []
    with running(table.fed_by(frame)) as query:
        for step in range(1, 25):
            what = choose.choice(["make", "grow", "delete", "fill", "fill"])
            name = choose.choice(sorted(partitions))
            if what == "make" and len(partitions) < 5:
                partitions[f"{topic}-{step}"] = choose.randint(1, 3)
                client.create(f"{topic}-{step}", partitions[f"{topic}-{step}"])
            elif what == "grow":
                partitions[name] += 1
                client.grow(name, partitions[name])
            elif what == "delete" and len(partitions) > 1:
                query.processAllAvailable()  # what is unread would be lost
                assert table.numbers() == sent
                client.delete(name)
                del partitions[name]
            else:
                for partition in range(partitions[name]):
                    more = range(len(sent), len(sent) + 7)
                    client.send(name, more, partition)
                    sent += more
        eventually(lambda: table.numbers() == sent)
        assert query.isActive


def test_three_nodes(
    spark: SparkSession, new_broker: NewBroker, topic: str, checkpoint: str
) -> None:
    """Partitions led by different nodes: Spark finds each, to write and to read."""
    broker = new_broker(node_count=3)
    client = Client(broker.bootstrap)
    client.create(topic, partitions=6)
    leaders = client.admin.list_topics(topic, timeout=60).topics[topic].partitions
    assert {partition.leader for partition in leaders.values()} == {1, 2, 3}
    (
        spark.range(0, 3_000, 1, 2)
        .selectExpr("cast(id AS string) AS value", "cast(id % 6 AS int) AS partition")
        .write.format("kafka")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .option("topic", topic)
        .save()
    )
    assert client.numbers(topic) == [*range(3_000)]
    frame = load(spark.readStream, broker, subscribe=topic, startingOffsets="earliest")
    assert available_now(frame, checkpoint) == [sorted([*range(500)] * 6)]
