"""A compacted topic has holes: Spark must get over them, whole batches of offsets long."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from conformance.conftest import NewBroker
from conformance.harness.broker import Broker
from conformance.spark.client import Client, eventually, number
from conformance.spark.reading import available_now, in_order, load

KEYS, ROUNDS = 5, 10
LAST = KEYS * ROUNDS
RECORD_BYTES = 100_000
"""Ten records fill a segment of a mebibyte; the active one is never compacted."""


@pytest.fixture
def cleaning(new_broker: NewBroker) -> Broker:
    """A broker whose cleaner hardly rests."""
    return new_broker({"log.cleaner.backoff.ms": "100", "log.initial.task.delay.ms": "100"})


@pytest.fixture
def compacted(spark: SparkSession, cleaning: Broker, topic: str) -> DataFrame:
    """A topic that has lost most of its records: what is left of fifty, five keys in turn."""
    client = Client(cleaning.bootstrap)
    client.create(
        topic,
        cleanup_policy="compact",
        segment_bytes=str(1024 * 1024),
        min_cleanable_dirty_ratio="0.01",
    )
    for value in range(LAST):
        padded = str(value).zfill(RECORD_BYTES)
        client.send(topic, [padded], key=b"key %d" % (value % KEYS))
    frame = load(spark.read, cleaning, subscribe=topic)
    eventually(lambda: frame.count() <= LAST // 2)
    return frame


def test_what_compaction_leaves(compacted: DataFrame) -> None:
    """The last record of each key, at its old offset, and the offsets rise."""
    rows = in_order(compacted)
    assert [number(row.value) for row in rows] == [row.offset for row in rows]
    assert [row.offset for row in rows[-KEYS:]] == [*range(LAST - KEYS, LAST)]
    assert all(row.key == b"key %d" % (row.offset % KEYS) for row in rows)
    assert {row.offset for row in rows} < {*range(LAST)}


def test_micro_batches_that_begin_and_end_in_holes(
    spark: SparkSession, cleaning: Broker, compacted: DataFrame, topic: str, checkpoint: str
) -> None:
    """Seven offsets for each trigger, whether there is a record at them or not."""
    frame = load(
        spark.readStream,
        cleaning,
        subscribe=topic,
        startingOffsets="earliest",
        maxOffsetsPerTrigger="7",
    )
    left = {row.offset for row in in_order(compacted)}
    batches = available_now(frame, checkpoint)
    assert max(left) == LAST - 1
    assert {offset for batch in batches for offset in batch} <= left
    assert [*range(LAST - KEYS, LAST)] == [offset for batch in batches for offset in batch][-KEYS:]
    assert all(batch[-1] - batch[0] < 7 for batch in batches if batch)
    assert sum(map(len, batches)) == len({offset for batch in batches for offset in batch})
