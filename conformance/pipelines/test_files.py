"""Segment files alone: a directory written by Apache Kafka, and one whose broker is killed."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite
from conformance.pipelines.beside import load, rows
from conformance.spark.client import Client, transact
from kafkalite.spark import register

COMMITTED = {"kafka.isolation.level": "read_committed", "includeHeaders": "true"}


def fill(client: Client) -> None:
    """Every codec, headers, nulls, two transactions aborted and one committed, several partitions."""
    client.create("mixed", 2)
    for i, codec in enumerate(("none", "gzip", "snappy", "lz4", "zstd")):
        client.send("mixed", range(i * 500, i * 500 + 500), i % 2, compression=codec, key=b"k")
        client.send("mixed", [None, ""], headers=[("h", b"1"), ("h", None)], compression=codec)
    client.create("settled", 1)
    producer = client.transactional_producer("settles")
    transact(producer, "settled", range(10), commit=False)
    transact(producer, "settled", range(10, 30))
    transact(producer, "settled", range(30, 35), commit=False)


def read(spark: SparkSession, path: Path, topic: str) -> list[Any]:
    frame = spark.read.format("kafkalite").options(path=str(path), subscribe=topic, **COMMITTED)
    return rows(frame.load())


@pytest.mark.parametrize("kind", ["kafka", "kafkalite"])
def test_files_alone_when_the_broker_was_stopped_or_killed(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    register(spark)
    started: Broker = (ApacheKafka if kind == "kafka" else Kafkalite)(tmp_path / kind)
    try:
        client = Client(started.bootstrap)
        fill(client)
        topics = ("mixed", "settled")
        expected = {
            topic: rows(load(spark, started, "connector", {"subscribe": topic, **COMMITTED}))
            for topic in topics
        }
        assert [len(found) for found in expected.values()] == [2510, 20]
        started.kill()
        for topic in topics:
            assert read(spark, started.data_dir, topic) == expected[topic], "killed"
        started.start()
        started.stop()
        for topic in topics:
            assert read(spark, started.data_dir, topic) == expected[topic], "stopped"
    finally:
        started.kill()
