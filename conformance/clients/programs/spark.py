"""PySpark with its own Kafka connector, any version: `spark.py BOOTSTRAP PREFIX STEP ...`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from steps import BOOTSTRAP, PREFIX, run, same

# the jars and JAVA_HOME come in the environment (PYSPARK_SUBMIT_ARGS)
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", 2)
    .getOrCreate()
)
WHERE = {"kafka.bootstrap.servers": BOOTSTRAP}


def values(rows):
    return sorted(bytes(row.value) for row in rows)


def sink():
    numbers = spark.range(100).selectExpr("cast(id as string) as value")
    numbers.write.format("kafka").options(**WHERE, topic=PREFIX).save()


def batch():
    read = spark.read.format("kafka").options(**WHERE, subscribe=PREFIX).load()
    same(values(read.collect()), sorted(b"%d" % n for n in range(100)))


def stream():
    directory = Path(tempfile.mkdtemp())
    read = spark.readStream.format("kafka").options(
        **WHERE, subscribe=PREFIX, startingOffsets="earliest", maxOffsetsPerTrigger=30
    )
    query = (
        read.load()
        .writeStream.format("parquet")
        .option("checkpointLocation", str(directory / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(directory / "out"))
    )
    query.awaitTermination(60)
    query.stop()
    written = spark.read.parquet(str(directory / "out"))
    same(values(written.collect()), sorted(b"%d" % n for n in range(100)))


run({}, sink=sink, batch=batch, stream=stream)
