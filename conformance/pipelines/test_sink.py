"""Writes: the records of Spark's own sink; and rows exactly once, whenever a driver dies."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from conformance.harness.broker import Broker
from conformance.pipelines.compare_with_connector import error_of
from conformance.spark.client import Client
from kafkalite.spark import register
from kafkalite.spark.exactly_once_sink import STEPS, exactly_once

Unique = Callable[[str], str]


@pytest.fixture
def write(spark: SparkSession, broker: Broker) -> Callable[..., None]:
    register(spark)

    def save(frame: DataFrame, form: str, **options: Any) -> None:
        place = {"kafka.bootstrap.servers": broker.bootstrap, **options}
        frame.write.format(form).options(**place).mode("append").save()

    return save


def content(client: Client, topic: str) -> list[Any]:
    return sorted(
        (each.partition(), each.key() or b"", each.value() or b"", str(each.headers()))
        for each in client.read(topic)
    )


def test_the_records_of_sparks_own_sink(
    spark: SparkSession, client: Client, unique: Unique, write: Callable[..., None]
) -> None:
    """Keys decide the partition as Kafka's own producer would."""
    frame = spark.range(3000).selectExpr(
        "concat('k', id % 500) as key",
        "if(id % 7 = 0, null, repeat(cast(id as string), 5)) as value",
        "if(id % 3 = 0, array(struct('h' as key, cast(cast(id as string) as binary) as value)),"
        " null) as headers",
    )
    topics = {form: unique(form) for form in ("kafka", "kafkalite")}
    for form, topic in topics.items():
        client.create(topic, 5)
        write(frame, form, topic=topic, includeHeaders="true")
    theirs = content(client, topics["kafka"])
    assert len(theirs) == 3000
    assert content(client, topics["kafkalite"]) == theirs


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_columns_say_where_to(
    spark: SparkSession, client: Client, unique: Unique, write: Callable[..., None], codec: str
) -> None:
    topics = [unique("to"), unique("to")]
    for topic in topics:
        client.create(topic, 3)
    frame = spark.range(900).selectExpr(
        f"if(id % 2 = 0, '{topics[0]}', '{topics[1]}') as topic",
        "cast(id % 3 as int) as partition",
        "cast(id as string) as value",
    )
    write(frame, "kafkalite", **{"kafka.compression.type": codec})
    for rest, topic in enumerate(topics):
        read = client.read(topic)
        assert sorted(int(each.value()) for each in read) == list(range(rest, 900, 2))
        assert all(int(each.value()) % 3 == each.partition() for each in read)


def test_a_stream_into_a_topic(
    spark: SparkSession, broker: Broker, client: Client, unique: Unique, checkpoint: str
) -> None:
    register(spark)
    source, target = unique("from"), unique("to")
    for topic in (source, target):
        client.create(topic, 2)
    client.send(source, range(500), 0)
    client.send(source, range(500, 800), 1)
    place = {"kafka.bootstrap.servers": broker.bootstrap}
    reader = spark.readStream.format("kafkalite").options(**place, subscribe=source)
    frame = reader.option("startingOffsets", "earliest").load().select("key", "value")
    writer = frame.writeStream.format("kafkalite").options(**place, topic=target)
    query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    assert query.awaitTermination(90)
    assert client.numbers(target) == list(range(800))


def test_bad_input_writes_nothing(
    spark: SparkSession, client: Client, unique: Unique, write: Callable[..., None]
) -> None:
    topic = unique("untouched")
    client.create(topic)
    frame = spark.range(10).selectExpr("cast(id as string) as value")
    wrong = spark.range(10).selectExpr("cast(id as string) as text")
    assert "a topic takes key, value" in error_of(lambda: write(wrong, "kafkalite", topic=topic))
    assert "option topic, or a column topic" in error_of(lambda: write(frame, "kafkalite"))
    assert client.read(topic) == []


class Died(BaseException):
    """The driver is killed: nothing is cleaned up."""


def dies_at(step: str) -> Callable[[str], None]:
    def on_step(reached: str) -> None:
        if reached == step:
            raise Died

    return on_step


def test_rows_exactly_once_wherever_the_driver_dies(
    spark: SparkSession, broker: Broker, client: Client, unique: Unique
) -> None:
    topic = unique("once")
    client.create(topic, 3)
    query_id = unique("query")
    options = {"topic": topic, "query_id": query_id}

    def batch(number: int) -> DataFrame:
        return spark.range(number * 100, number * 100 + 100).selectExpr(
            "concat('k', id % 10) as key", "cast(id as string) as value"
        )

    for number, step in enumerate(STEPS):
        dying = exactly_once(broker.bootstrap, on_step=dies_at(step), **options)
        with pytest.raises(Died):
            dying(batch(number), number)
        again = exactly_once(broker.bootstrap, **options)
        again(batch(number), number)
        again(batch(number), number)  # and once more: it is done
    assert client.numbers(topic) == list(range(100 * len(STEPS)))


def test_a_stream_exactly_once(
    spark: SparkSession, broker: Broker, client: Client, unique: Unique, checkpoint: str
) -> None:
    source, target = unique("from"), unique("to")
    for topic in (source, target):
        client.create(topic, 2)
    client.send(source, range(600), 0)
    deaths = iter(["written", "noted", "committed", ""])

    def run(death: str) -> None:
        reader = spark.readStream.format("kafka").option("subscribe", source)
        reader = reader.option("kafka.bootstrap.servers", broker.bootstrap)
        frame = reader.options(startingOffsets="earliest", maxOffsetsPerTrigger=200).load()

        def on_step(reached: str) -> None:
            if reached == death:
                raise RuntimeError(reached)

        sink = exactly_once(broker.bootstrap, topic=target, on_step=on_step)
        writer = frame.select("key", "value").writeStream.foreachBatch(sink)
        query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
        query.awaitTermination(90)

    for death in deaths:
        if death:
            error_of(partial(run, death))
        else:
            run(death)
    assert client.numbers(target) == list(range(600))
