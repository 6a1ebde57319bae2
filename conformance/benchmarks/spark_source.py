"""`python -m conformance.benchmarks.spark_source`: format("kafkalite") beside Spark's own
connector.

In one Spark application, local[2], over one topic: count, the sum of lengths, and a Parquet write,
each by every way in turn, the best of some rounds. Needs the environment of `make pipelines`.

"Nothing read" is what Spark itself takes: a Python data source that has read a few thousand of the
records gives them to Spark again and again. No source in Python can be faster.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from conformance.harness.apache_kafka import ServerKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite
from conformance.spark.session import connector_jars, spark_builder
from kafkalite.spark import register
from kafkalite.spark.client import Client
from kafkalite.spark.encode import encode_batches
from kafkalite.spark.producer_id import new_producer
from kafkalite.spark.schema import spark_schema
from kafkalite.spark.segment_reader import read_partition
from kafkalite.wire.compression import Compression

TOPIC = "benchmark"
PARTITIONS = 4
# Kafka's own producer fills its batches like this.
BATCH_BYTES = 16_384
TUNED = {
    "kafka.max.poll.records": "50000",
    "kafka.max.partition.fetch.bytes": str(16 << 20),
    "kafka.fetch.max.bytes": str(16 << 20),
}

_AGAIN_ROWS = 1 << 15

Action = Callable[[DataFrame, Path], object]
ACTIONS: dict[str, Action] = {
    "count": lambda frame, _: frame.count(),
    "sum of lengths": lambda frame, _: frame.selectExpr(
        "sum(length(value))", "max(offset)"
    ).collect(),
    "Parquet write": lambda frame, place: frame.write.mode("overwrite").parquet(str(place)),
}


def fill(broker: Broker, count: int, codec: Compression) -> None:
    """`count` records with a key and some 100 bytes of JSON."""
    with Client(broker.bootstrap) as client:
        client.create_topic(TOPIC, PARTITIONS)
        producer = new_producer(client)
        each = count // PARTITIONS
        for partition in range(PARTITIONS):
            numbers = range(partition * each, (partition + 1) * each)
            keys = pa.array([b"key-%d" % i for i in numbers])
            values = pa.array(
                [
                    b'{"id": %d, "name": "somebody-%d", "city": "somewhere", '
                    b'"amount": %d, "text": "%s"}'
                    % (i, i * 7919 % 10_007, i * 7 % 1000, b"x" * (i % 40))
                    for i in numbers
                ]
            )
            times = time.time_ns() // 1_000_000 + np.arange(each, dtype=np.int64) // 100
            options = {"compression": codec, "max_batch_bytes": BATCH_BYTES, "base_sequence": 0}
            for batch in encode_batches(keys, values, times, producer=producer, **options):
                client.produce((TOPIC, partition), batch.data)


class Again(DataSource):
    """Some records of each partition, until there are as many as in the topic."""

    @classmethod
    def name(cls) -> str:
        return "again"

    def schema(self) -> str:
        return spark_schema(include_headers=False)

    def reader(self, schema: Any) -> "AgainReader":
        return AgainReader(self.options["path"], int(self.options["rows"]))


class AgainReader(DataSourceReader):
    def __init__(self, path: str, rows: int) -> None:
        self._path, self._rows = Path(path), rows

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(partition) for partition in range(PARTITIONS)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        some = next(read_partition(self._path, TOPIC, partition.value, 0, _AGAIN_ROWS))
        left = self._rows // PARTITIONS
        while left > 0:
            yield some.slice(0, left)
            left -= some.num_rows


def frames(spark: SparkSession, broker: Broker, count: int) -> dict[str, DataFrame]:
    bootstrap = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": TOPIC}
    files = {"path": str(broker.data_dir), **bootstrap}
    return {
        "connector, defaults": spark.read.format("kafka").options(**bootstrap).load(),
        "connector, tuned": spark.read.format("kafka").options(**bootstrap, **TUNED).load(),
        "kafkalite, network": spark.read.format("kafkalite").options(**bootstrap).load(),
        "kafkalite, files": spark.read.format("kafkalite").options(**files).load(),
        "nothing read": spark.read.format("again").options(**files, rows=count).load(),
    }


def measure(
    spark: SparkSession, broker: Broker, count: int, rounds: int, directory: Path
) -> dict[str, dict[str, float]]:
    """Seconds, the best of `rounds`, by way and action; the ways take turns."""
    found: dict[str, dict[str, float]] = {}
    ways = frames(spark, broker, count)
    for _ in range(rounds):
        for action, act in ACTIONS.items():
            for way, frame in ways.items():
                begin = time.perf_counter()
                act(frame, directory / "parquet")
                seconds = time.perf_counter() - begin
                best = found.setdefault(way, {})
                best[action] = min(seconds, best.get(action, seconds))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--codec", default="none", choices=[c.name.lower() for c in Compression])
    parser.add_argument("--broker", default="kafkalite", choices=["kafkalite", "kafka"])
    parser.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", help="of Spark, for all ways"
    )
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="kafkalite-benchmark-"))
    kinds: dict[str, Callable[..., Broker]] = {"kafkalite": Kafkalite, "kafka": ServerKafka}
    broker = kinds[options.broker](directory / "broker")
    try:
        fill(broker, options.records, Compression[options.codec.upper()])
        # Spark as it comes: no quick compiler, no small heap
        builder = spark_builder(directory, connector_jars(), quick=False)
        for key, value in (each.split("=", 1) for each in options.conf):
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        register(spark)
        spark.dataSource.register(Again)
        found = measure(spark, broker, options.records, options.rounds, directory)
        spark.stop()
    finally:
        broker.kill()
        shutil.rmtree(directory, ignore_errors=True)
    print(
        f"{options.records} records on {options.broker}, {options.codec}: million rows/s, and how"
    )
    print("many times those of the connector's defaults and of its tuned settings")
    print("| way | " + " | ".join(ACTIONS) + " |")
    default, tuned = found["connector, defaults"], found["connector, tuned"]
    for way, seconds in found.items():
        cells = [
            f"{options.records / seconds[action] / 1e6:.2f} "
            f"({default[action] / seconds[action]:.1f}, {tuned[action] / seconds[action]:.1f})"
            for action in ACTIONS
        ]
        print(f"| {way} | " + " | ".join(cells) + " |")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
