"""The smallest Structured Streaming job: how many records does a topic hold, by key?

    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 \
        examples/spark_read.py localhost:9092 flights

It reads what is there, prints the twenty busiest keys, and ends.
"""

import sys

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, desc


def show(batch: DataFrame, _batch_id: int) -> None:
    batch.orderBy(desc("records")).show(20, truncate=False)


def main() -> int:
    if len(sys.argv) != 3:
        print(f"usage: {sys.argv[0]} BOOTSTRAP TOPIC", file=sys.stderr)
        return 2
    bootstrap, topic = sys.argv[1:]
    spark = SparkSession.builder.appName(f"read {topic}").getOrCreate()
    records = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    by_key = records.groupBy(col("key").cast("string").alias("key")).agg(
        count("*").alias("records")
    )
    query = (
        by_key.writeStream.outputMode("complete")
        .trigger(availableNow=True)
        .foreachBatch(show)
        .start()
    )
    query.awaitTermination()
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
