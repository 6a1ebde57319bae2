"""KafkaUtils under Spark's own connector: what PySpark's helper does, and loss and gaps on
demand."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

from kafkalite.spark.testing import KafkaUtils


@pytest.fixture
def utils() -> Iterator[KafkaUtils]:
    with KafkaUtils() as running:
        yield running


def test_records_come_back(spark: SparkSession, utils: KafkaUtils) -> None:
    utils.create_topics(["t"])
    utils.send_messages("t", [("b", 2), ("a", 1), (None, "null")])
    assert utils.get_all_records(spark, "t") == [(None, "null"), ("a", "1"), ("b", "2")]


def test_a_stream_meets_a_gap_and_a_loss(
    spark: SparkSession, utils: KafkaUtils, tmp_path: Path
) -> None:
    """A gap is passed over; with failOnDataLoss a query dies of records that are gone."""
    utils.create_topics(["t"])
    utils.send_messages("t", [(None, value) for value in range(20)])
    utils.make_gap("t", 0, 5, 10)
    frame = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", str(utils.broker))
        .option("subscribe", "t")
        .option("startingOffsets", "earliest")
        .load()
        .selectExpr("CAST(CAST(value AS STRING) AS INT) AS value")
    )

    def start() -> StreamingQuery:
        return (
            frame.writeStream.format("memory")
            .queryName("gaps")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .outputMode("append")
            .start()
        )

    query = start()
    utils.wait_for_query_alive(query)
    utils.assert_eventually(
        lambda: [row.value for row in spark.table("gaps").sort("value").collect()],
        [*range(5), *range(10, 20)],
        interval=0.2,
    )
    query.stop()
    utils.send_messages("t", [(None, value) for value in range(20, 40)])
    utils.force_data_loss("t", 0, 30)
    query = (
        frame.writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    with pytest.raises(StreamingQueryException, match=r"(?i)data.?loss|missing|available"):
        query.processAllAvailable()
