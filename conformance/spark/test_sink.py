"""The Kafka sink: batch and streaming writes, and what the broker's files then hold."""

import struct
from collections import Counter

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from conformance.conftest import NewBroker
from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.losing_proxy import LosingProxy
from conformance.spark.client import Client, eventually, number
from conformance.spark.reading import load, numbers, running
from conformance.spark.test_batch import CODECS

BATCH_HEADER = struct.Struct(">qiibIhiqqqhii")
"""Kafka's record batch: base offset, length, epoch, magic, crc, attributes, ..., producer id."""


def write(frame: DataFrame, broker: Broker, **options: str) -> None:
    dotted = {name.replace("__", "."): value for name, value in options.items()}
    writer = frame.write.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap)
    writer.options(**dotted).save()


def ranged(spark: SparkSession, count: int, tasks: int = 2) -> DataFrame:
    return spark.range(0, count, 1, tasks).selectExpr("cast(id AS string) AS value")


def stored_batches(broker: Broker, topic: str, partition: int = 0) -> list[tuple[int, int]]:
    """(codec, producer id) of each batch, from the partition's first file, at rest."""
    data = (broker.data_dir / f"{topic}-{partition}" / f"{0:020d}.log").read_bytes()
    found, position = [], 0
    while position + BATCH_HEADER.size <= len(data):
        fields = BATCH_HEADER.unpack_from(data, position)
        if fields[1] == 0:  # the file is longer than what is written
            break
        found.append((fields[5] & 7, fields[9]))
        position += 12 + fields[1]
    return found


def test_batch_write(spark: SparkSession, broker: Broker, client: Client, topic: str) -> None:
    client.create(topic, partitions=3)
    write(ranged(spark, 10_000), broker, topic=topic)
    assert client.numbers(topic) == [*range(10_000)]
    assert numbers(load(spark.read, broker, subscribe=topic)) == [*range(10_000)]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec(
    spark: SparkSession, broker: Broker, client: Client, topic: str, codec: str
) -> None:
    """The batches lie in the file as Spark compressed them, by an idempotent producer."""
    client.create(topic)
    frame = spark.range(0, 5_000, 1, 2).selectExpr("lpad(cast(id AS string), 100, '0') AS value")
    write(frame, broker, topic=topic, kafka__compression__type=codec)
    assert client.numbers(topic) == [*range(5_000)]
    batches = stored_batches(broker, topic)
    assert {codec for codec, _ in batches} == {CODECS.index(codec)}
    assert all(producer_id >= 0 for _, producer_id in batches)


def test_without_idempotence(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    client.create(topic)
    write(ranged(spark, 100), broker, topic=topic, kafka__enable__idempotence="false")
    assert client.numbers(topic) == [*range(100)]
    assert {producer_id for _, producer_id in stored_batches(broker, topic)} == {-1}


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(spark: SparkSession, broker: Broker, client: Client, topic: str, acks: str) -> None:
    client.create(topic)
    options = {"kafka__enable__idempotence": "false", "kafka__acks": acks}
    write(ranged(spark, 1_000), broker, topic=topic, **options)
    eventually(lambda: client.numbers(topic) == [*range(1_000)])  # acks=0 is not waited for


def test_keys_nulls_and_headers(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    client.create(topic)
    rows = [
        (b"key", b"value", [("a", b"1"), ("b", b"2"), ("a", b"3")]),
        (None, b"no key", None),
        (b"no value", None, []),
    ]
    schema = "key BINARY, value BINARY, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
    frame = spark.createDataFrame(rows, schema).coalesce(1)
    write(frame, broker, topic=topic, includeHeaders="true")
    written = [(each.key(), each.value(), each.headers()) for each in client.read(topic)]
    assert written == [
        (b"key", b"value", [("a", b"1"), ("b", b"2"), ("a", b"3")]),
        (None, b"no key", None),
        (b"no value", None, None),
    ]


def test_the_topic_column_and_the_topic_option(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    one, other, optional = f"{topic}-1", f"{topic}-2", f"{topic}-3"
    for name in (one, other, optional):
        client.create(name)
    frame = spark.range(10).selectExpr(
        f"if(id % 2 = 0, '{one}', '{other}') AS topic", "cast(id AS string) AS value"
    )
    write(frame, broker)
    assert client.numbers(one) == [0, 2, 4, 6, 8]
    assert client.numbers(other) == [1, 3, 5, 7, 9]
    write(frame, broker, topic=optional)
    assert client.numbers(optional) == [*range(10)]
    assert client.numbers(one) == [0, 2, 4, 6, 8]
    without = spark.range(1).selectExpr("cast(NULL AS string) AS topic", "'x' AS value")
    with pytest.raises(Py4JJavaError, match=r"(?i)null topic"):
        write(without, broker)


def test_the_partition_column(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    client.create(topic, partitions=4)
    frame = spark.range(100).selectExpr(
        "cast(id % 3 AS int) AS partition", "cast(id AS string) AS value"
    )
    write(frame, broker, topic=topic)
    for message in client.read(topic):
        assert message.partition() == number(message.value() or b"") % 3
    assert Counter(each.partition() for each in client.read(topic)) == {0: 34, 1: 33, 2: 33}


def test_keys_choose_the_partition_as_java_does(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    client.create(topic, partitions=4)
    frame = spark.range(200).selectExpr(
        "cast(id % 10 AS string) AS key", "cast(id AS string) AS value"
    )
    write(frame, broker, topic=topic)
    homes: dict[bytes | None, set[int]] = {}
    for message in client.read(topic):
        homes.setdefault(message.key(), set()).add(message.partition() or 0)
    assert len(homes) == 10
    assert all(len(partitions) == 1 for partitions in homes.values())


def test_a_small_buffer(spark: SparkSession, broker: Broker, client: Client, topic: str) -> None:
    """1,000 records of 15 kB through a buffer of 16 kB: the producer waits, nothing is lost."""
    client.create(topic)
    frame = spark.range(0, 1_000, 1, 1).selectExpr("lpad(cast(id AS string), 15000, '0') AS value")
    options = {"kafka__buffer.memory": "16384", "kafka__block.size": "14336"}
    write(frame, broker, topic=topic, **options)
    assert client.numbers(topic) == [*range(1_000)]


def test_a_missing_topic_is_made(
    spark: SparkSession, broker: Broker, client: Client, topic: str
) -> None:
    """The sink's producer asks for it, and brokers make topics unless told not to."""
    write(ranged(spark, 10), broker, topic=topic)
    assert client.numbers(topic) == [*range(10)]


def test_a_missing_topic_where_none_are_made(
    spark: SparkSession, new_broker: NewBroker, topic: str
) -> None:
    broker = new_broker({"auto.create.topics.enable": "false"})
    with pytest.raises(Py4JJavaError, match="not present in metadata"):
        write(ranged(spark, 10), broker, topic=topic, kafka__max__block__ms="3000")
    assert Client(broker.bootstrap).partition_count(topic) == 0


def test_streaming_write_and_restart(
    spark: SparkSession, broker: Broker, client: Client, topic: str, checkpoint: str
) -> None:
    """Topic to topic over two runs of one query: each record once."""
    source, target = f"{topic}-in", f"{topic}-out"
    client.create(source, partitions=2)
    client.create(target, partitions=2)
    frame = load(
        spark.readStream,
        broker,
        subscribe=source,
        startingOffsets="earliest",
        maxOffsetsPerTrigger="300",
    )
    writer = (
        frame.selectExpr("key", "value")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .option("topic", target)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
    )
    for first in (0, 1_000):
        client.send(source, range(first, first + 500), partition=0)
        client.send(source, range(first + 500, first + 1_000), partition=1)
        with running(writer) as query:
            assert query.awaitTermination(90)
        assert client.numbers(target) == [*range(first + 1_000)]


def advertise(broker: Broker, address: str) -> None:
    """Start the broker anew, on its old port, telling clients that it is at `address`."""
    name, value = "advertised.listeners", f"PLAINTEXT://{address}"
    if isinstance(broker, Kafkalite):
        broker.properties[name] = value
    else:
        assert isinstance(broker, ApacheKafka)
        with (broker.home(1) / "server.properties").open("a") as file:
            file.write(f"{name}={value}\n")
    broker.restart()


@pytest.mark.parametrize(("idempotence", "copies"), [("true", 1), ("false", 3)])
def test_two_lost_acknowledgements(
    spark: SparkSession, new_broker: NewBroker, topic: str, idempotence: str, copies: int
) -> None:
    """The producer sends again what it never heard of; the broker knows an idempotent one's
    batch."""
    broker = new_broker()
    host, _, port = broker.bootstrap.partition(":")
    with LosingProxy((host, int(port)), api_key=0, count=2) as proxy:
        advertise(broker, proxy.address)
        client = Client(proxy.address)
        client.create(topic)
        (
            ranged(spark, 100, tasks=1)
            .write.format("kafka")
            .option("kafka.bootstrap.servers", proxy.address)
            .option("topic", topic)
            .option("kafka.enable.idempotence", idempotence)
            .option("kafka.linger.ms", "200")  # one batch of all
            .save()
        )
        assert proxy.left == 0
        assert client.numbers(topic) == sorted([*range(100)] * copies)
