"""The Spark application under proof: what a user would write, with Spark's own connector.

    python -m kafkalite.spark.proof.driver --bootstrap HOST:PORT --directory DIR [--jars ...]

Two queries, each with a checkpoint: the source topic to Parquet, and to another topic. With
--to-the-end they stop when all is copied; else they run until they are killed, or fail.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from kafkalite.spark.proof.processes import QUERIES_RUN
from kafkalite.spark.proof.source import COPY, SOURCE


def start_queries(spark: Any, flags: argparse.Namespace) -> list[Any]:
    directory: Path = flags.directory
    frame = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", flags.bootstrap)
        .option("subscribe", SOURCE)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", flags.per_trigger)
        .option("kafka.max.poll.records", 50_000)
        .load()
    )
    parquet = (
        frame.selectExpr("partition", "offset", "CAST(value AS STRING) AS value")
        .writeStream.format("parquet")
        .option("path", str(directory / "parquet"))
        .option("checkpointLocation", str(directory / "checkpoint-parquet"))
    )
    kafka = (
        frame.selectExpr("concat(partition, ':', offset) AS key", "value")
        .writeStream.format("kafka")
        .option("kafka.bootstrap.servers", flags.bootstrap)
        .option("topic", COPY)
        .option("checkpointLocation", str(directory / "checkpoint-kafka"))
    )
    writers = [parquet, kafka]
    if flags.to_the_end:
        writers = [writer.trigger(availableNow=True) for writer in writers]
    return [writer.start() for writer in writers]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--directory", type=Path, required=True)
    parser.add_argument("--per-trigger", type=int, default=2000)
    parser.add_argument("--jars")
    parser.add_argument("--packages")
    parser.add_argument("--to-the-end", action="store_true")
    flags = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[2]")
        .appName("kafkalite proof")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
    )
    for name in ("jars", "packages"):
        value = getattr(flags, name)
        if value:
            builder = builder.config(
                "spark.jars" if name == "jars" else "spark.jars.packages", value
            )
    queries = start_queries(builder.getOrCreate(), flags)
    (flags.directory / QUERIES_RUN).touch()
    for query in queries:
        query.awaitTermination()  # raises what ended it
    return 0


if __name__ == "__main__":
    sys.exit(main())
