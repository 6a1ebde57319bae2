"""Short ways to say what the tests say most: read a topic, run a stream, look at the rows."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, DataFrameReader, Row, SparkSession
from pyspark.sql.streaming import DataStreamReader, DataStreamWriter, StreamingQuery

from conformance.harness.broker import Broker
from conformance.spark.client import number

POLL_TIMEOUT_MS = 20_000
"""The wait of an executor for a record that must be there. Spark's default is two minutes."""

IMPATIENT = {"kafka__default.api.timeout.ms": "10000", "kafka__request.timeout.ms": "10000"}
"""For tests that delete topics under a stream. Where one goes between Spark's two questions, which
topics there are and where they end, the Java client asks on for a minute (on any broker)."""


def load(reader: DataFrameReader | DataStreamReader, broker: Broker, **options: Any) -> DataFrame:
    """`spark.read` or `spark.readStream` on `broker`; two underscores in an option are a dot."""
    dotted = {name.replace("__", "."): value for name, value in options.items()}
    return (
        reader.format("kafka")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .option("kafkaConsumer.pollTimeoutMs", POLL_TIMEOUT_MS)
        .options(**dotted)
        .load()
    )


def numbers(frame: DataFrame) -> list[int]:
    """The values, which are numbers, sorted."""
    return sorted(number(row.value) for row in frame.select("value").collect())


def in_order(frame: DataFrame) -> list[Row]:
    """All rows by topic, partition and offset."""
    return frame.sort("topic", "partition", "offset").collect()


def available_now(frame: DataFrame, checkpoint: str) -> list[list[int]]:
    """Run a stream to the end of what is there; the offsets of the rows of each micro-batch."""
    batches: list[list[int]] = []

    def keep(batch: DataFrame) -> None:
        batches.append(sorted(row.offset for row in batch.select("offset").collect()))

    run_to_end(frame, checkpoint, keep)
    return batches


def run_to_end(frame: DataFrame, checkpoint: str, keep: Callable[[DataFrame], None]) -> None:
    """Run a stream to the end of what is there; each micro-batch is given to `keep`."""
    writer = frame.writeStream.foreachBatch(lambda batch, _batch_id: keep(batch))
    query = writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(90), "the stream did not come to its end in 90 s"
    finally:
        query.stop()


@contextmanager
def running(writer: DataStreamWriter) -> Iterator[StreamingQuery]:
    """A query that is stopped whatever happens."""
    query = writer.start()
    try:
        yield query
    finally:
        query.stop()


class Table:
    """The memory table a stream fills."""

    def __init__(self, spark: SparkSession, name: str) -> None:
        self.spark, self.name = spark, name.replace("-", "_")

    def fed_by(self, frame: DataFrame) -> DataStreamWriter:
        return frame.writeStream.format("memory").queryName(self.name)

    def numbers(self) -> list[int]:
        return numbers(self.spark.table(self.name))
