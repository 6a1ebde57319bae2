"""format("kafkalite") gives the rows of Spark's own connector, for every option they share."""

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from pyspark.sql import DataFrame, SparkSession

from conformance.conftest import NewBroker
from conformance.harness.broker import Broker
from conformance.pipelines.compare_with_connector import (
    WAYS,
    error_of,
    load,
    ours,
    read,
    rows,
    same,
)
from conformance.spark.client import Client, eventually, transact
from conformance.spark.reading import available_now, run_to_end

Unique = Callable[[str], str]


@pytest.fixture
def filled(client: Client, topic: str) -> str:
    """Three partitions of 101, 11 and 1 rows, a second between their timestamps."""
    client.create(topic, 3, retention_ms="-1")  # the timestamps are old
    for partition, count in enumerate((101, 11, 1)):
        for part in range(2):
            values = range(part * count // 2, (part + 1) * count // 2)
            time_ms = 1_700_000_000_000 + 1000 * (part + partition)
            client.send(topic, values, partition, timestamp_ms=time_ms)
    return topic


def test_ranges(spark: SparkSession, broker: Broker, client: Client, filled: str) -> None:
    assert len(same(spark, broker, subscribe=filled)) == 113
    start = json.dumps({filled: {"0": 7, "1": -2, "2": 0}})
    end = json.dumps({filled: {"0": 100, "1": 5, "2": -1}})
    found = same(spark, broker, subscribe=filled, startingOffsets=start, endingOffsets=end)
    assert len(found) == 93 + 5 + 1
    assigned = json.dumps({filled: [0, 2]})
    assert {row.partition for row in same(spark, broker, assign=assigned)} <= {0, 2}
    other = f"{filled}-too"
    client.create(other)
    client.send(other, range(3))
    found = same(spark, broker, subscribePattern=f"{filled}.*")
    assert {row.topic for row in found} == {filled, other}
    assert same(spark, broker, subscribe=f"{filled},{other}") == found


def test_by_timestamp(spark: SparkSession, broker: Broker, filled: str) -> None:
    first = 1_700_000_000_000
    each = json.dumps({filled: {"0": first + 1000, "1": first + 500, "2": first}})
    later = json.dumps({filled: {"0": first + 1000, "1": first + 2000, "2": first + 9000}})
    same(spark, broker, subscribe=filled, startingOffsetsByTimestamp=each)
    same(
        spark,
        broker,
        subscribe=filled,
        startingTimestamp=first,
        endingOffsetsByTimestamp=later,
        startingOffsets="earliest",
    )
    late = {"startingTimestamp": first + 2000, "startingOffsetsByTimestampStrategy": "latest"}
    assert same(spark, broker, subscribe=filled, endingTimestamp=first + 99_000, **late)
    for way in WAYS:
        options = {"subscribe": filled, "startingTimestamp": first + 99_000}
        assert "startingOffsetsByTimestampStrategy" in error_of(
            partial(read, spark, broker, way, options)
        )


def test_headers_nulls_and_text(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    client.create(topic)
    client.send(topic, [None, "ä", ""], key=b"k", headers=[("a", b"1"), ("a", None), ("b", b"")])
    client.send(topic, ["none"])
    client.send(topic, [None])
    found = same(spark, broker, subscribe=topic, includeHeaders="true")
    assert [bool(row.headers) for row in found] == [True] * 3 + [False] * 2
    same(spark, broker, subscribe=topic)


def test_codecs(
    spark: SparkSession, broker: Broker, client: Client, topic: str, unique: Unique
) -> None:
    """Codecs of librdkafka, beside one another in a partition, and of Kafka's own producer."""
    client.create(topic, 2)
    for i, codec in enumerate(("gzip", "none", "snappy", "lz4", "zstd")):
        values = [f"{n}-{'x' * (n % 90)}" for n in range(1000)]
        client.send(topic, values, i % 2, compression=codec)
    assert len(same(spark, broker, subscribe=topic)) == 5000
    prefix = unique("java")
    numbers = spark.range(1000).selectExpr("cast(id as string) key", "repeat(id, 9) value")
    for codec in ("gzip", "snappy", "lz4", "zstd"):
        client.create(f"{prefix}-{codec}")
        sink = numbers.write.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap)
        sink.option("kafka.compression.type", codec).option("topic", f"{prefix}-{codec}").save()
    assert len(same(spark, broker, subscribePattern=f"{prefix}.*")) == 4000


def test_nothing_to_read(spark: SparkSession, broker: Broker, client: Client, topic: str) -> None:
    """An empty topic, a range without offsets, a partition that is not there."""
    client.create(topic, 2)
    assert same(spark, broker, subscribe=topic) == []
    client.send(topic, range(5))
    end = json.dumps({topic: {"0": 3, "1": 0}})
    assert same(spark, broker, subscribe=topic, startingOffsets=end, endingOffsets=end) == []
    assert same(spark, broker, assign=json.dumps({topic: [1, 7]})) == []
    assert same(spark, broker, subscribePattern=f"{topic}-nobody.*") == []


def test_a_batch_may_lose_what_is_gone(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    client.create(topic)
    client.send(topic, range(50))
    at = TopicPartition(topic, 0, 20)
    client.admin.delete_records([at])[at].result(30)
    options = {"subscribe": topic, "startingOffsets": json.dumps({topic: {"0": 5}})}
    left = same(spark, broker, failOnDataLoss="false", **options)
    assert [row.offset for row in left] == list(range(20, 50))
    for way in ("connector", *WAYS):
        error_of(partial(read, spark, broker, way, options))


def test_log_append_time(spark: SparkSession, broker: Broker, client: Client, topic: str) -> None:
    client.create(topic, message_timestamp_type="LogAppendTime")
    client.send(topic, range(100), timestamp_ms=1)
    assert {row.timestampType for row in same(spark, broker, subscribe=topic)} == {1}


def test_transactions(spark: SparkSession, broker: Broker, client: Client, topic: str) -> None:
    client.create(topic)
    producer = client.transactional_producer(f"of-{topic}")
    for first, commit in ((0, True), (10, False), (20, True), (30, False)):
        transact(producer, topic, range(first, first + 5), commit=commit)
    other = client.transactional_producer(f"other-of-{topic}")
    other.begin_transaction()
    other.produce(topic, b"99", partition=0)
    other.flush()
    transact(producer, topic, range(50, 55))
    committed = same(spark, broker, subscribe=topic, kafka__isolation__level="read_committed")
    assert [int(row.value) for row in committed] == [*range(5), *range(20, 25)]
    assert len(same(spark, broker, subscribe=topic)) == 26
    other.abort_transaction()
    committed = same(spark, broker, subscribe=topic, kafka__isolation__level="read_committed")
    assert len(committed) == 15


def test_holes_of_compaction_and_retention(
    spark: SparkSession, new_broker: NewBroker, topic: str
) -> None:
    own = new_broker({"log.cleaner.backoff.ms": "50", "log.initial.task.delay.ms": "100"})
    client = Client(own.bootstrap)
    configs = {
        "cleanup_policy": "compact",
        "segment_ms": "50",
        "min_cleanable_dirty_ratio": "0.01",
        "max_compaction_lag_ms": "100",
    }
    client.create(topic, **configs)
    for i in range(40):
        client.send(topic, [i], key=b"%d" % (i % 7))
        time.sleep(0.01)
    eventually(lambda: len(client.read(topic)) < 30)
    assert len(settled(spark, own, topic)) < 30
    client.create(f"{topic}-short")
    client.send(f"{topic}-short", range(100))
    at = TopicPartition(f"{topic}-short", 0, 40)
    client.admin.delete_records([at])[at].result(30)
    found = same(spark, own, subscribe=f"{topic}-short")
    assert [row.offset for row in found] == list(range(40, 100))


def settled(spark: SparkSession, broker: Broker, topic: str) -> list[object]:
    """The cleaner may come between two reads: compared until it did not."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return same(spark, broker, subscribe=topic)
        except AssertionError:
            if time.monotonic() > deadline:
                raise


@pytest.mark.parametrize("way", WAYS)
def test_tasks(spark: SparkSession, broker: Broker, filled: str, way: str) -> None:
    for options, least in (
        ({}, 2),
        ({"minPartitions": 6}, 6),
        ({"maxRecordsPerPartition": 10}, 12),
    ):
        frame = load(spark, broker, way, {"subscribe": filled, **options})
        assert frame.rdd.getNumPartitions() >= least
        assert frame.count() == 113


@pytest.mark.parametrize("way", WAYS)
def test_a_stream_with_a_limit_and_a_restart(
    spark: SparkSession, broker: Broker, client: Client, filled: str, checkpoint: str, way: str
) -> None:
    def stream() -> list[list[int]]:
        reader = spark.readStream.format("kafkalite").options(**ours(spark, broker, way))
        options = {"subscribe": filled, "startingOffsets": "earliest", "maxOffsetsPerTrigger": 40}
        return available_now(reader.options(**options).load(), checkpoint)

    batches = stream()
    assert sum(map(len, batches)) == 113
    assert all(len(batch) <= 42 for batch in batches)
    assert len(batches) >= 3
    client.send(filled, range(5), 1)
    client.grow(filled, 4)
    client.send(filled, range(7), 3)
    assert sum(map(len, stream())) == 12
    assert sum(map(len, stream())) == 0


def test_micro_batches_are_the_connectors(
    spark: SparkSession, broker: Broker, client: Client, topic: str, tmp_path: Path
) -> None:
    """Their limits, and every column of their rows: headers, and no aborted record."""
    client.create(topic, 3)
    client.send(topic, range(30), 0, key=b"k", headers=[("h", b"1"), ("h", None)])
    client.send(topic, range(4), 1, compression="zstd")
    producer = client.transactional_producer(f"of-{topic}")
    for first, commit in ((0, True), (10, False), (20, True)):
        transact(producer, topic, range(first, first + 5), commit=commit)
    options = {
        "subscribe": topic,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": "20",
        "includeHeaders": "true",
        "kafka.isolation.level": "read_committed",
    }
    found: dict[str, list[list[Any]]] = {}
    for way in ("connector", *WAYS):
        place = {} if way == "connector" else ours(spark, broker, way)
        reader = spark.readStream.format("kafkalite" if place else "kafka")
        reader = reader.option("kafka.bootstrap.servers", broker.bootstrap)
        batches = found[way] = []
        frame = reader.options(**place, **options).load()
        run_to_end(frame, str(tmp_path / way), partial(keep, batches))
    assert sum(map(len, found["connector"])) == 44
    assert found["network"] == found["files"] == found["connector"]


@pytest.mark.parametrize("way", WAYS)
def test_a_stream_sees_data_loss(
    spark: SparkSession, broker: Broker, client: Client, topic: str, tmp_path: Path, way: str
) -> None:
    client.create(topic)
    client.send(topic, range(50))

    def stream(checkpoint: str, lose: str) -> list[list[int]]:
        reader = spark.readStream.format("kafkalite").options(**ours(spark, broker, way))
        options = {"subscribe": topic, "startingOffsets": "earliest", "failOnDataLoss": lose}
        return available_now(reader.options(**options).load(), str(tmp_path / checkpoint))

    assert stream("strict", "true") == stream("lenient", "false") == [list(range(50))]
    client.send(topic, range(50))
    at = TopicPartition(topic, 0, 80)
    client.admin.delete_records([at])[at].result(30)
    assert "failOnDataLoss" in error_of(lambda: stream("strict", "true"))
    assert stream("lenient", "false") == [list(range(80, 100))]


@pytest.mark.parametrize("way", WAYS)
def test_a_tolerant_stream_goes_on_without_a_topic(
    spark: SparkSession, broker: Broker, client: Client, topic: str, tmp_path: Path, way: str
) -> None:
    """Deleted in the middle of a micro-batch, which a restart runs again from its checkpoint."""
    gone, stays = f"{topic}-gone", f"{topic}-stays"
    for name in (gone, stays):
        client.create(name)
        client.send(name, range(5))

    def stream(process: Callable[[DataFrame], None]) -> None:
        reader = spark.readStream.format("kafkalite").options(**ours(spark, broker, way))
        options = {"subscribePattern": f"{topic}-.*", "startingOffsets": "earliest"}
        frame = reader.options(**options, failOnDataLoss="false").load()
        run_to_end(frame, str(tmp_path / "checkpoint"), process)

    def die(_: DataFrame) -> None:
        client.delete(gone)
        raise RuntimeError("the driver is gone")

    assert "the driver is gone" in error_of(lambda: stream(die))
    found: list[list[Any]] = []
    stream(partial(keep, found))
    assert [(row.topic, row.offset) for batch in found for row in batch] == [
        (stays, offset) for offset in range(5)
    ]


def keep(batches: list[list[Any]], batch: DataFrame) -> None:
    batches.append(rows(batch))


def test_bad_input_is_told_in_a_sentence(
    spark: SparkSession, broker: Broker, client: Client, topic: str, tmp_path: Path
) -> None:
    client.create(topic)
    for way in WAYS:
        missing = {"subscribe": "not-there"}
        assert "no topic 'not-there'" in error_of(partial(read, spark, broker, way, missing))
    reader = spark.read.format("kafkalite").option("subscribe", topic)
    assert "say where the records are" in error_of(lambda: reader.load().count())
    reader = reader.option("path", str(tmp_path))
    assert "is no data directory" in error_of(lambda: reader.load().count())
