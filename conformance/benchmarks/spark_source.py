"""`python -m conformance.benchmarks.spark_source`: format("kafkalite") beside Spark's own connector.

In one Spark application, local[2], over one topic: count, the sum of lengths, and a Parquet write, each by
every way in turn, the best of some rounds. Needs the environment of `make pipelines`.
"""

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from conformance.harness.apache_kafka import ServerKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite
from conformance.spark.session import connector_jars, spark_builder
from kafkalite.spark import register
from kafkalite.spark.client import Client
from kafkalite.spark.encode import encode_batches
from kafkalite.spark.producer_id import new_producer
from kafkalite.wire.compression import Compression

TOPIC = "benchmark"
PARTITIONS = 4
# As Kafka's own producer fills its batches.
BATCH_BYTES = 16_384
TUNED = {
    "kafka.max.poll.records": "50000",
    "kafka.max.partition.fetch.bytes": str(16 << 20),
    "kafka.fetch.max.bytes": str(16 << 20),
}

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
                    b'{"id": %d, "name": "somebody-%d", "city": "somewhere", "amount": %d, "text": "%s"}'
                    % (i, i * 7919 % 10_007, i * 7 % 1000, b"x" * (i % 40))
                    for i in numbers
                ]
            )
            times = time.time_ns() // 1_000_000 + np.arange(each, dtype=np.int64) // 100
            options = {"compression": codec, "max_batch_bytes": BATCH_BYTES, "base_sequence": 0}
            for batch in encode_batches(keys, values, times, producer=producer, **options):
                client.produce((TOPIC, partition), batch.data)


def frames(spark: SparkSession, broker: Broker) -> dict[str, DataFrame]:
    bootstrap = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": TOPIC}
    files = {"path": str(broker.data_dir), **bootstrap}
    return {
        "connector, defaults": spark.read.format("kafka").options(**bootstrap).load(),
        "connector, tuned": spark.read.format("kafka").options(**bootstrap, **TUNED).load(),
        "kafkalite, network": spark.read.format("kafkalite").options(**bootstrap).load(),
        "kafkalite, files": spark.read.format("kafkalite").options(**files).load(),
    }


def measure(
    spark: SparkSession, broker: Broker, rounds: int, directory: Path
) -> dict[str, dict[str, float]]:
    """Seconds, the best of `rounds`, by way and action; the ways take turns."""
    found: dict[str, dict[str, float]] = {}
    ways = frames(spark, broker)
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
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--codec", default="none", choices=[c.name.lower() for c in Compression])
    parser.add_argument("--broker", default="kafkalite", choices=["kafkalite", "kafka"])
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="kafkalite-benchmark-"))
    kinds: dict[str, Callable[..., Broker]] = {"kafkalite": Kafkalite, "kafka": ServerKafka}
    broker = kinds[options.broker](directory / "broker")
    try:
        fill(broker, options.records, Compression[options.codec.upper()])
        # Spark as it comes: no quick compiler, no small heap
        spark = spark_builder(directory, connector_jars(), quick=False).getOrCreate()
        register(spark)
        found = measure(spark, broker, options.rounds, directory)
        spark.stop()
    finally:
        broker.kill()
        shutil.rmtree(directory, ignore_errors=True)
    print(f"{options.records} records on {options.broker}, {options.codec}, million rows/s:")
    print("| way | " + " | ".join(ACTIONS) + " |")
    for way, seconds in found.items():
        rates = [f"{options.records / seconds[action] / 1e6:.2f}" for action in ACTIONS]
        print(f"| {way} | " + " | ".join(rates) + " |")
    print(json.dumps(found))


if __name__ == "__main__":
    main()
