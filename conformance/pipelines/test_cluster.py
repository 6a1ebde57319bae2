"""Spark against three processes: the leaders are read while one is killed, and the files of all
data directories are one cluster's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from pyspark.sql import DataFrame, SparkSession

from conformance.harness.one_of_many import PROPERTIES
from conformance.harness.quorum import QuorumCluster
from conformance.scenarios.placed_topics import placed_topic
from kafkalite.spark import register
from kafkalite.spark.audit.auditing import audit
from kafkalite.spark.pipelines.archiving import archive

TOPIC = "spread"
RECORDS = 900
PLACES = [[11, 12, 13], [12, 13, 11], [13, 11, 12]]
SECONDS = 60
# In time for who reads the files while brokers run.
CHECKPOINTED = {"replica.high.watermark.checkpoint.interval.ms": "500"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[QuorumCluster]:
    made = QuorumCluster(tmp_path, kafkalite=3, properties={**PROPERTIES, **CHECKPOINTED})
    yield made
    made.close()


def values(frame: DataFrame) -> list[int]:
    return sorted(int(row.value) for row in frame.select("value").collect())


def test_one_broker_is_killed(spark: SparkSession, cluster: QuorumCluster, tmp_path: Path) -> None:
    register(spark)
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([placed_topic(TOPIC, PLACES)])[TOPIC].result(SECONDS)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})

    def write(numbers: range) -> None:
        for number in numbers:
            producer.produce(TOPIC, f"{number}", partition=number % len(PLACES))
        assert producer.flush(SECONDS) == 0

    source = spark.read.format("kafkalite").option("subscribe", TOPIC)
    write(range(RECORDS))
    cluster.kill(11)  # its partition has no leader for a while
    served = source.option("kafka.bootstrap.servers", cluster.bootstrap).load()
    assert values(served) == list(range(RECORDS))

    write(range(RECORDS, 2 * RECORDS))  # which 11 has not
    directories = [cluster.data(node_id) for node_id in cluster.brokers]
    everything = list(range(2 * RECORDS))
    path = ",".join(map(str, directories))
    source = spark.read.format("kafkalite").option("subscribe", TOPIC).option("path", path)
    deadline = time.monotonic() + SECONDS
    while values(source.load()) != everything:
        assert time.monotonic() < deadline
    for node_id in (12, 13):
        cluster.stop(node_id)
    assert values(source.load()) == everything
    audited = audit(directories, topics=[TOPIC], spark=spark)
    assert audited.damage == []
    assert audited.extent == "9 replicas of 3 partitions"
    assert {each.data_dir for each in audited.findings if each.kind == "replica-behind"} == {
        str(cluster.data(11))
    }
    summary = archive(tmp_path / "archive", data_dir=directories, topics=[TOPIC], spark=spark)
    assert summary.rows == 2 * RECORDS
    archived = spark.read.parquet(str(tmp_path / "archive" / f"topic={TOPIC}"))
    assert values(archived) == everything
