"""The job: hourly departures and mean delay of each airport, by Spark Structured Streaming.

An ordinary PySpark job with Spark's own Kafka connector. It runs against any Kafka:

    python -m examples.flights.job 127.0.0.1:9092 output-directory
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyspark
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import StreamingQuery
from tqdm import tqdm

CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
WATERMARK_DAYS = 14
"""The delay with which a flight may come and still count.

The topic is in order of time, but a micro-batch takes a share of each partition, and the airports
do not fly in step: at the end of a micro-batch they are up to nine days apart. A flight behind the
watermark would be dropped without a word, so the margin is generous, and the progress is looked at.
"""
FLIGHT = "origin STRING, scheduled TIMESTAMP, dep_delay DOUBLE"
AIRPORT_HOUR = "origin STRING, hour TIMESTAMP, flights LONG, departures LONG, mean_delay DOUBLE"


def start_spark() -> SparkSession:
    """Spark in this process. The connector comes from Maven Central once, then from ~/.ivy2."""
    return (
        SparkSession.builder.master("local[2]")
        .appName("flights")
        .config("spark.jars.packages", CONNECTOR)
        # Named by the connector, but part of every Spark: 50 MB not fetched again.
        .config("spark.jars.excludes", "org.apache.hadoop:hadoop-client-runtime")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )


def read_topic(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    """The topic from its beginning, 50,000 messages at a time."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 50_000)
        # Fewer, larger polls: each poll asks the broker for the topic's ends as well.
        .option("kafka.max.poll.records", 10_000)
        .load()
    )


def start_hours(spark: SparkSession, bootstrap: str, output: Path) -> StreamingQuery:
    """Start flights -> airport-hours, from a topic to a topic."""
    flights = (
        read_topic(spark, bootstrap, "flights")
        .select(f.from_json(f.col("value").cast("string"), FLIGHT).alias("flight"))
        .select("flight.*")
        .withWatermark("scheduled", f"{WATERMARK_DAYS} days")
    )
    hours = flights.groupBy("origin", f.window("scheduled", "1 hour")).agg(
        f.count("*").alias("flights"),
        f.count("dep_delay").alias("departures"),
        f.avg("dep_delay").alias("mean_delay"),
    )
    row = f.struct("origin", f.col("window.start").alias("hour"), *hours.columns[2:])
    return (
        hours.select(
            f.col("origin").alias("key"),
            f.to_json(row, {"ignoreNullFields": "false"}).alias("value"),
        )
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", "airport-hours")
        .option("checkpointLocation", str(output / "checkpoints" / "hours"))
        .trigger(availableNow=True)
        .start()
    )


def start_archive(spark: SparkSession, bootstrap: str, output: Path) -> StreamingQuery:
    """Start airport-hours -> Parquet, from a topic to files."""
    return (
        read_topic(spark, bootstrap, "airport-hours")
        .select(f.from_json(f.col("value").cast("string"), AIRPORT_HOUR).alias("row"))
        .select("row.*")
        .writeStream.format("parquet")
        .option("path", str(output / "airport-hours"))
        .option("checkpointLocation", str(output / "checkpoints" / "archive"))
        .trigger(availableNow=True)
        .start()
    )


def wait(query: StreamingQuery, name: str) -> str:
    """Wait for the end of `query` under a progress bar; return what it did in a sentence.

    Raises what the query raised, and RuntimeError when rows came too late to count.
    """
    with tqdm(desc=name, unit=" rows", unit_scale=True, disable=None) as bar:
        ended = False
        while not ended:
            ended = query.awaitTermination(0.2)
            batches = {progress["batchId"]: progress for progress in query.recentProgress}
            rows = sum(batch["numInputRows"] for batch in batches.values())
            bar.update(rows - bar.n)
    dropped = sum(
        state["numRowsDroppedByWatermark"]
        for batch in batches.values()
        for state in batch["stateOperators"]
    )
    if dropped:
        raise RuntimeError(f"{dropped} rows came behind the watermark and were not counted")
    return f"{rows:,} rows, micro-batches: {len(batches)}"


def main(bootstrap: str, output: str) -> None:
    """Run both queries, one after the other."""
    spark = start_spark()
    print(wait(start_hours(spark, bootstrap, Path(output)), "flights -> airport-hours"))
    print(wait(start_archive(spark, bootstrap, Path(output)), "airport-hours -> Parquet"))


if __name__ == "__main__":
    main(*sys.argv[1:])
