"""Records go missing under a query: failOnDataLoss tells, or the query goes on."""

import random

import pytest
from confluent_kafka import KafkaError, KafkaException
from py4j.protocol import Py4JJavaError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from conformance.conftest import NewBroker
from conformance.harness.broker import Broker
from conformance.spark.client import Client, eventually
from conformance.spark.reading import IMPATIENT, Table, available_now, load, numbers, running

MIB = 1024 * 1024
RECORD_BYTES = 100_000
RECORDS = 50


@pytest.fixture
def quick(new_broker: NewBroker) -> Broker:
    """A broker that looks for what to delete ten times a second, beginning at once."""
    return new_broker(
        {
            "log.retention.check.interval.ms": "100",
            "log.initial.task.delay.ms": "100",
            "log.segment.delete.delay.ms": "0",
        }
    )


def padded(values: range) -> list[str]:
    """Numbers of a hundred kilobytes each."""
    return [str(value).zfill(RECORD_BYTES) for value in values]


def earliest(spark: SparkSession, broker: Broker, topic: str) -> int:
    """The offset of the first record there is."""
    row = load(spark.read, broker, subscribe=topic).selectExpr("min(offset) AS first").first()
    assert row is not None
    return int(row["first"])


def retention_is_done(broker: Broker, topic: str) -> bool:
    """True if nothing is left that may be deleted, so that no query races with it."""
    try:
        segments = sorted((broker.data_dir / f"{topic}-0").glob("*.log"))
        sizes = [segment.stat().st_size for segment in segments]
    except FileNotFoundError:  # deleted while we looked
        return False
    return sum(sizes[1:]) < MIB


def create_forgetful(client: Client, topic: str) -> None:
    """A topic that keeps little more than a mebibyte, ten records, of what it is given."""
    client.create(topic, segment_bytes=str(MIB), retention_bytes=str(MIB))


def test_batch_from_offsets_that_retention_took(
    spark: SparkSession, quick: Broker, topic: str
) -> None:
    client = Client(quick.bootstrap)
    create_forgetful(client, topic)
    client.send(topic, padded(range(RECORDS)))
    eventually(lambda: retention_is_done(quick, topic))
    first = earliest(spark, quick, topic)
    assert first >= RECORDS // 2
    asked = {"subscribe": topic, "startingOffsets": f'{{"{topic}": {{"0": 0}}}}'}
    with pytest.raises(Py4JJavaError, match=r"COULD_NOT_READ_OFFSET_RANGE|data may have been lost"):
        load(spark.read, quick, **asked).collect()
    frame = load(spark.read, quick, **asked, failOnDataLoss="false")
    left = numbers(frame)
    assert left == [*range(left[0], RECORDS)]
    assert first <= left[0] < RECORDS


def test_offsets_are_bound_after_retention(spark: SparkSession, quick: Broker, topic: str) -> None:
    """One DataFrame, read before and after its first records were deleted."""
    client = Client(quick.bootstrap)
    create_forgetful(client, topic)
    client.send(topic, padded(range(5)))
    frame = load(spark.read, quick, subscribe=topic)
    assert numbers(frame) == [*range(5)]
    client.send(topic, padded(range(5, RECORDS)))
    eventually(lambda: retention_is_done(quick, topic))
    assert earliest(spark, quick, topic) >= RECORDS // 2
    left = numbers(frame)
    assert left == [*range(left[0], RECORDS)]


def test_stream_behind_retention(
    spark: SparkSession, quick: Broker, topic: str, checkpoint: str
) -> None:
    """The checkpoint lies before the log's start: fail, or go on from there with nothing twice."""
    client = Client(quick.bootstrap)
    create_forgetful(client, topic)
    client.send(topic, padded(range(5)))

    def stream(fail_on_data_loss: str) -> list[list[int]]:
        frame = load(
            spark.readStream,
            quick,
            subscribe=topic,
            startingOffsets="earliest",
            failOnDataLoss=fail_on_data_loss,
        )
        return available_now(frame, checkpoint)

    assert stream("true") == [[*range(5)]]
    client.send(topic, padded(range(5, RECORDS)))
    eventually(lambda: retention_is_done(quick, topic))
    first = earliest(spark, quick, topic)
    assert first >= RECORDS // 2
    with pytest.raises(StreamingQueryException, match=r"(?i)data.?loss|data may have been lost"):
        stream("true")
    (left,) = stream("false")
    assert left == [*range(left[0], RECORDS)]
    assert first <= left[0] < RECORDS


@pytest.mark.parametrize("fail_on_data_loss", ["true", "false"])
def test_a_topic_made_anew_and_shorter(
    spark: SparkSession,
    broker: Broker,
    client: Client,
    topic: str,
    checkpoint: str,
    fail_on_data_loss: str,
) -> None:
    """Offsets went back. Told to go on, Spark does so from the new end."""
    client.create(topic)
    client.send(topic, range(50))
    frame = load(
        spark.readStream,
        broker,
        subscribe=topic,
        startingOffsets="earliest",
        failOnDataLoss=fail_on_data_loss,
    )
    assert available_now(frame, checkpoint) == [[*range(50)]]
    client.delete(topic)
    client.create(topic)
    client.send(topic, range(20))

    seen: list[int] = []

    def keep(batch: DataFrame, _batch_id: int) -> None:
        seen.extend(row.offset for row in batch.collect())

    writer = frame.writeStream.foreachBatch(keep).option("checkpointLocation", checkpoint)
    with running(writer) as query:
        if fail_on_data_loss == "true":
            with pytest.raises(StreamingQueryException, match=r"was changed from 50 to 20"):
                query.awaitTermination(60)
        else:
            query.processAllAvailable()
            client.send(topic, range(20, 30))
            eventually(lambda: seen == [*range(20, 30)])
            assert query.isActive


def test_a_topic_deleted_under_a_stream(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    """With failOnDataLoss=false the others are read on."""
    gone, stays = f"{topic}-gone", f"{topic}-stays"
    for name in (gone, stays):
        client.create(name)
    client.send(gone, range(5))
    client.send(stays, range(5, 10))
    frame = load(
        spark.readStream,
        broker,
        subscribePattern=f"{topic}-.*",
        startingOffsets="earliest",
        failOnDataLoss="false",
        **IMPATIENT,
    )
    table = Table(spark, topic)
    with running(table.fed_by(frame)) as query:
        query.processAllAvailable()
        assert table.numbers() == [*range(10)]
        client.delete(gone)
        client.send(stays, range(10, 15))
        eventually(lambda: table.numbers() == [*range(15)])
        assert query.isActive


def test_deleted_partitions_fail_a_strict_stream(
    spark: SparkSession, broker: Broker, client: Client, topic: str, checkpoint: str
) -> None:
    gone, stays = f"{topic}-gone", f"{topic}-stays"
    for name in (gone, stays):
        client.create(name)
        client.send(name, range(5))
    frame = load(
        spark.readStream, broker, subscribePattern=f"{topic}-.*", startingOffsets="earliest"
    )
    assert available_now(frame, checkpoint) == [sorted([*range(5)] * 2)]
    client.delete(gone)
    with pytest.raises(StreamingQueryException, match=rf"{gone}-0.*(gone|deleted)"):
        available_now(frame, checkpoint)


def test_available_now_misses_its_end(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    """The end was fixed when the run began. A topic made anew and shorter fails it, always."""
    client.create(topic, partitions=2)
    client.send(topic, range(10), partition=0)
    client.send(topic, range(10), partition=1)
    frame = load(
        spark.readStream,
        broker,
        subscribe=topic,
        startingOffsets="earliest",
        failOnDataLoss="false",
        maxOffsetsPerTrigger="10",
    )
    batches: list[int] = []

    def make_anew(_batch: DataFrame, batch_id: int) -> None:
        if not batches:
            client.delete(topic)
            client.create(topic)
            client.send(topic, range(5))
        batches.append(batch_id)

    writer = frame.writeStream.foreachBatch(make_anew).trigger(availableNow=True)
    with (
        running(writer) as query,
        pytest.raises(StreamingQueryException, match=r"(?i)available_?now|data may have been lost"),
    ):
        query.awaitTermination(60)
    assert batches == [0]


def make_anew(client: Client, name: str) -> None:
    """Unless Spark was first: an executor's consumer asks for the topic it had, which makes it."""
    try:
        client.create(name)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise
        eventually(lambda: client.partition_count(name) == 1)


def test_a_tolerant_stream_survives_anything(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    """Topics deleted, made anew and filled while they are read: records go, the query stays."""
    choose = random.Random(7)
    names = [f"{topic}-{number}" for number in range(3)]
    for name in names:
        client.create(name)
    frame = load(
        spark.readStream,
        broker,
        subscribePattern=f"{topic}-.*",
        startingOffsets="earliest",
        failOnDataLoss="false",
        **IMPATIENT,
        kafkaConsumer__pollTimeoutMs="1000",
    )
    table = Table(spark, topic)
    with running(table.fed_by(frame)) as query:
        for _ in range(30):
            name = choose.choice(names)
            if client.partition_count(name) == 0:
                make_anew(client, name)
            elif choose.random() < 0.3:
                client.delete(name)
            else:
                client.send(name, range(20))
        for name in names:
            if client.partition_count(name) == 0:
                make_anew(client, name)

        def hears_from_all() -> bool:
            """What Spark skipped in a topic made anew is skipped; what comes later is read."""
            for number, name in enumerate(names):
                client.send(name, [1_000 + number])
            return {1_000, 1_001, 1_002} <= set(table.numbers())

        eventually(hears_from_all)
        assert query.isActive
