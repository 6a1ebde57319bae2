"""seed, archive, replay and audit: the flights and generated records, there and back, byte for
byte."""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from conformance.harness.broker import Broker
from conformance.pipelines.compare_with_connector import everything
from conformance.pipelines.flights import ALL_FLIGHTS, flights_csv, flights_parquet
from conformance.spark.client import Client
from kafkalite.spark.audit.auditing import audit
from kafkalite.spark.pipelines.archiving import archive
from kafkalite.spark.pipelines.columns import Columns
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.spark.pipelines.manifest import MANIFEST, Manifest
from kafkalite.spark.pipelines.network import NetworkSink
from kafkalite.spark.pipelines.replaying import replay
from kafkalite.spark.pipelines.seeding import seed
from kafkalite.spark.pipelines.stored import DirectoryReader
from kafkalite.testing import broker as test_broker

# `make pipelines ROWS=2000000` goes the whole way; in every run of the tests it is less. What takes
# time about the flights is their days, a file for each partition: one month of them, else the year.
ROWS = int(os.environ.get("ROWS") or 150_000)
MONTHS, FLIGHTS = (12, ALL_FLIGHTS) if os.environ.get("ROWS") else (1, 27_004)
GENERATED = Columns(
    value="value",
    key="key",
    timestamp="timestamp",
    headers=(("number", "number"),),
    timestamp_ms=10**12,
)
BY_CARRIER = Columns(key="carrier", timestamp="time_hour", headers=(("from", "origin"),))


def test_flights_there_and_back(spark: SparkSession, tmp_path: Path) -> None:
    """Parquet -> segment files -> archive -> segment files: every byte of every record is the
    same."""
    source = flights_parquet(tmp_path, MONTHS)
    first, second = tmp_path / "first", tmp_path / "second"
    seeded = seed(
        [source],
        topic="flights",
        data_dir=first,
        partitions=3,
        columns=BY_CARRIER,
        compression="zstd",
        spark=spark,
    )
    assert seeded.rows == FLIGHTS
    archived = archive(tmp_path / "archive", data_dir=first, spark=spark)
    replayed = replay(tmp_path / "archive", topic="flights", data_dir=second, spark=spark)
    assert seeded.partitions == archived.partitions == replayed.partitions
    assert everything(DirectoryReader((first,)), "flights") == everything(
        DirectoryReader((second,)), "flights"
    )
    for data_dir in (first, second):
        assert audit(data_dir, spark=spark).is_sound
    # Both are what a broker serves, and what Spark's connector reads.
    with test_broker(data_dir=second) as broker:
        frame = (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", broker.bootstrap)
            .option("subscribe", "flights")
            .option("kafka.max.poll.records", 50_000)
            .load()
        )
        by_carrier = {
            row["carrier"]: row["count"]
            for row in frame.selectExpr("CAST(key AS STRING) AS carrier")
            .groupBy("carrier")
            .count()
            .collect()
        }
        value = frame.selectExpr("CAST(value AS STRING) AS value").first()
    flights = spark.read.parquet(str(source))
    expected = {
        row["carrier"]: row["count"] for row in flights.groupBy("carrier").count().collect()
    }
    assert by_carrier == expected
    assert value is not None
    assert set(json.loads(value["value"])) == set(flights.columns)


def test_the_same_rows_from_any_format(spark: SparkSession, tmp_path: Path) -> None:
    """CSV, JSON and Parquet of one table make one topic."""
    table = pa.csv.read_csv(flights_csv(tmp_path)).slice(0, 2000)
    pa.csv.write_csv(table, tmp_path / "some.csv")
    pa.parquet.write_table(table, tmp_path / "some.parquet", row_group_size=700)
    rows = table.select(["carrier", "flight", "origin"]).to_pylist()
    (tmp_path / "some.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = Columns(value="carrier,flight,origin", key="carrier", timestamp_ms=5)
    made = [
        seed(
            [tmp_path / f"some.{suffix}"],
            topic="t",
            data_dir=tmp_path / suffix,
            partitions=2,
            columns=columns,
            spark=spark,
        )
        for suffix in ("csv", "parquet", "json")
    ]
    assert made[0].partitions == made[1].partitions == made[2].partitions
    (first, _) = everything(DirectoryReader((tmp_path / "json",)), "t")
    assert json.loads(first.column("value")[0].as_py()) in rows


def test_generated_records_over_the_network(
    spark: SparkSession,
    broker: Broker,
    client: Client,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An interrupted seed goes on, an archive gains what the topic gains, a replay appends."""
    arguments: dict[str, Any] = {"columns": GENERATED, "partitions": 4, "generate": ROWS, "seed": 7}
    arguments |= {"topic": topic, "spark": spark}
    appends = 0
    whole = NetworkSink.append

    def failing(self: NetworkSink, partition: int, batch: bytearray, record_count: int) -> int:
        nonlocal appends
        appends += 1
        if appends == 40:
            raise PipelineError("the network is gone")
        return whole(self, partition, batch, record_count)

    with monkeypatch.context() as patch:
        patch.setattr(NetworkSink, "append", failing)
        with pytest.raises(PipelineError, match="network is gone"):
            seed(bootstrap=broker.bootstrap, **arguments)
    with pytest.raises(PipelineError, match="not empty"):
        seed(bootstrap=broker.bootstrap, **arguments)
    with pytest.raises(PipelineError, match="other records"):
        seed(bootstrap=broker.bootstrap, resume=True, **{**arguments, "seed": 8})
    seeded = seed(bootstrap=broker.bootstrap, resume=True, **arguments)
    assert seeded.rows == ROWS
    assert seeded.partitions == seed(data_dir=tmp_path / "data", **arguments).partitions

    root = tmp_path / "archive"
    where: dict[str, Any] = {"bootstrap": broker.bootstrap, "spark": spark}
    assert archive(root, topics=[topic], **where).partitions == seeded.partitions
    before = (root / MANIFEST).read_bytes()
    assert archive(root, topics=[topic], **where).done == 0
    assert (root / MANIFEST).read_bytes() == before
    client.send(topic, range(100), partition=1, timestamp_ms=10**12 + ROWS)
    grown = archive(root, topics=[topic], **where)
    assert (grown.done, grown.rows) == (100, ROWS + 100)
    files = {str(path.relative_to(root)) for path in root.rglob("*.parquet")}
    assert files == {file.path for file in Manifest.load(root).files(topic)}
    assert spark.read.parquet(str(root)).count() == ROWS + 100

    target = f"{topic}-again"
    # The timestamps are a millisecond apart: at 100 times the pace, a hundred of them in a
    # millisecond.
    replayed = replay(root, topic=topic, into=target, append=True, speed=100.0, **where)
    assert replayed.partitions[0].digest == grown.partitions[0].digest
    assert replayed.rows == grown.rows
    twice = replay(root, topic=topic, into=target, append=True, compression="lz4", **where)
    assert [each.end_offset for each in twice.partitions] == [
        2 * each.end_offset for each in replayed.partitions
    ]
