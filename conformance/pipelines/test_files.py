"""Segment files alone: Apache Kafka's and ours, read and audited while the broker runs, when it was
killed and when it was stopped; archived, and replayed into a directory of ours."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite
from conformance.pipelines.compare_with_connector import everything, load, rows
from conformance.spark.client import Client, transact
from kafkalite.spark import register
from kafkalite.spark.audit.auditing import audit
from kafkalite.spark.pipelines.archiving import archive
from kafkalite.spark.pipelines.replaying import replay
from kafkalite.spark.pipelines.stored import DirectoryReader

COMMITTED = {"kafka.isolation.level": "read_committed", "includeHeaders": "true"}


def fill(client: Client) -> None:
    """Every codec, headers, nulls, two transactions aborted and one committed, several
    partitions."""
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
def test_files_alone(spark: SparkSession, tmp_path: Path, kind: str) -> None:
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
        assert audit(started.data_dir, spark=spark).damage == []
        started.kill()
        for topic in topics:
            assert read(spark, started.data_dir, topic) == expected[topic], "killed"
        assert audit(started.data_dir, topics=topics, spark=spark).damage == []
        started.start()
        started.stop()
        for topic in topics:
            assert read(spark, started.data_dir, topic) == expected[topic], "stopped"
        closed = audit(started.data_dir, spark=spark)
        assert closed.damage == []
        records = dict.fromkeys(topics, 0)
        for each in closed.partitions:
            records[each.topic] = records.get(each.topic, 0) + each.records
        assert (records["mixed"], records["settled"]) == (2510, 35)
        archive(tmp_path / "archive", data_dir=started.data_dir, topics=["mixed"], spark=spark)
        replay(tmp_path / "archive", topic="mixed", data_dir=tmp_path / "ours", spark=spark)
        theirs, ours = (
            everything(DirectoryReader((path,)), "mixed")
            for path in (started.data_dir, tmp_path / "ours")
        )
        assert theirs == ours
    finally:
        started.kill()
