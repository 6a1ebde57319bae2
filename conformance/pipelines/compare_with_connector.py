"""Both sources on the same topic: Spark's own connector, and ours by either way."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from conformance.harness.broker import Broker
from kafkalite.spark import register
from kafkalite.spark.data_directory import Isolation
from kafkalite.spark.pipelines.stored import Reader

WAYS = ("network", "files")


def ours(spark: SparkSession, broker: Broker, way: str) -> dict[str, str]:
    """The options that name the place; files of a running broker with the broker's offsets."""
    register(spark)
    place = {"kafka.bootstrap.servers": broker.bootstrap}
    if way == "files":
        place["path"] = str(broker.data_dir)
    return place


def load(spark: SparkSession, broker: Broker, way: str, options: dict[str, Any]) -> DataFrame:
    """A batch read by `way`: "connector", "network" or "files"."""
    if way == "connector":
        reader = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap)
        reader = reader.option("kafkaConsumer.pollTimeoutMs", 20_000)
        return reader.options(**options).load()
    place = ours(spark, broker, way)
    return spark.read.format("kafkalite").options(**place).options(**options).load()


def rows(frame: DataFrame) -> list[Any]:
    """All rows in order; Spark would read everything twice to sort it."""
    return sorted(frame.collect(), key=lambda row: (row.topic, row.partition, row.offset))


def read(spark: SparkSession, broker: Broker, way: str, options: dict[str, Any]) -> list[Any]:
    """All rows of a batch read by `way`, in order."""
    return rows(load(spark, broker, way, options))


def same(spark: SparkSession, broker: Broker, **options: Any) -> list[Any]:
    """The rows of Spark's connector, which are ours, too; two underscores mean a dot."""
    dotted = {name.replace("__", "."): value for name, value in options.items()}
    theirs = load(spark, broker, "connector", dotted)
    expected = rows(theirs)
    for way in WAYS:
        frame = load(spark, broker, way, dotted)
        assert frame.dtypes == theirs.dtypes
        assert rows(frame) == expected, way
    return expected


def everything(source: Reader, topic: str) -> list[pa.Table]:
    """All rows of a topic as the pipelines read them, a table for each partition."""
    tables = []
    for name, partition in source.partitions():
        if name == topic:
            bounds = source.bounds(topic, partition, Isolation.READ_UNCOMMITTED)
            batches = source.read(topic, partition, *bounds, Isolation.READ_UNCOMMITTED)
            tables.append(pa.Table.from_batches(list(batches)).combine_chunks())
    return tables


def error_of(call: Callable[[], object]) -> str:
    """The error, in Spark's words."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - any error will do: its words are compared
        return str(error)
    raise AssertionError("nothing went wrong")
