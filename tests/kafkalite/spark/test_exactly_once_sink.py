"""Notes of micro-batches, and the places of rows, as exactly_once writes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pyarrow as pa
import pytest
from pyspark.errors import PySparkAttributeError
from pyspark.sql.types import StringType, StructField, StructType

from kafkalite.spark.client import Client
from kafkalite.spark.errors import SparkSourceError, UnknownTopic
from kafkalite.spark.exactly_once_sink import NOTES, exactly_once, last_batch, place_rows
from kafkalite.spark.partitioner import choose
from kafkalite.spark.sink import WriteOptions
from kafkalite.testing import broker
from kafkalite.wire.compression import Compression


@pytest.fixture(scope="module")
def running() -> Iterator[broker]:
    with broker({"auto.create.topics.enable": False}) as b:
        b.create_topic("t", partitions=3)
        b.create_topic("u", partitions=2)
        b.create_topic(NOTES, configs={"cleanup.policy": "compact"})
        yield b


@pytest.fixture
def client(running: broker) -> Iterator[Client]:
    with Client(running.bootstrap, retry_seconds=5) as made:
        yield made


def test_the_last_note_of_a_query_counts(running: broker, client: Client) -> None:
    assert last_batch(client, "q") == -1
    for key, batch in (("q", 0), ("other", 7), ("q", 1)):
        running.produce(NOTES, str(batch), key=key)
    assert [last_batch(client, each) for each in ("q", "other", "none")] == [1, 7, -1]


def options(running: broker, topic: str | None) -> WriteOptions:
    return WriteOptions(running.bootstrap, topic, Compression.NONE, 1 << 20)


def rows(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def test_rows_get_the_partition_that_their_key_decides(running: broker, client: Client) -> None:
    keys = pa.array([b"a", b"b", b"c"], pa.binary())
    placed = place_rows(
        rows(key=keys, value=pa.array(["x", "y", "z"])), options(running, "t"), client, {}, 0
    )
    assert placed.column("topic").to_pylist() == ["t"] * 3
    assert placed.column("partition").to_pylist() == choose(keys, 3).tolist()
    assert placed.column("value").to_pylist() == [b"x", b"y", b"z"]


def test_rows_of_several_topics_are_placed_by_each(running: broker, client: Client) -> None:
    there: dict[str, list[int]] = {}
    keys = pa.array([b"a", b"b", b"a"], pa.binary())
    given = rows(key=keys, value=pa.array(["x", "y", "z"]), topic=pa.array(["t", "u", "u"]))
    placed = place_rows(given, options(running, None), client, there, 0)
    assert there == {"t": [0, 1, 2], "u": [0, 1]}
    by_topic = dict(zip(("t", "u"), (choose(keys, 3), choose(keys, 2)), strict=True))
    assert placed.column("partition").to_pylist() == [
        int(by_topic["t"][0]),
        int(by_topic["u"][1]),
        int(by_topic["u"][2]),
    ]


def test_a_partition_that_is_named_wins(running: broker, client: Client) -> None:
    given = rows(value=pa.array(["x", "y"]), partition=pa.array([2, None], pa.int32()))
    placed = place_rows(given, options(running, "t"), client, {}, 0)
    assert placed.column("partition").to_pylist() == [2, 0]
    assert placed.column("key").to_pylist() == [None, None]
    for partition in (3, -1):
        given = rows(value=pa.array(["x"]), partition=pa.array([partition], pa.int32()))
        with pytest.raises(UnknownTopic, match=f"topic 't' has no partition {partition}"):
            place_rows(given, options(running, "t"), client, {}, 0)


def test_columns_that_are_all_null_say_nothing(running: broker, client: Client) -> None:
    nothing = {name: pa.nulls(1) for name in ("key", "partition", "headers")}
    placed = place_rows(
        rows(value=pa.array(["x"]), **nothing), options(running, "t"), client, {}, 0
    )
    assert placed.to_pylist() == [
        {"key": None, "value": b"x", "topic": "t", "partition": 0, "headers": None}
    ]


def test_rows_that_go_nowhere_are_told(running: broker, client: Client) -> None:
    given = rows(value=pa.array(["x"]), topic=pa.array([None], pa.string()))
    with pytest.raises(SparkSourceError, match="null topic present"):
        place_rows(given, options(running, None), client, {}, 0)
    with pytest.raises(UnknownTopic, match="there is no topic 'x'"):
        place_rows(rows(value=pa.array(["v"])), options(running, "x"), client, {}, 0)


def test_what_cannot_be_written_is_told_before_anything_is(running: broker) -> None:
    class Frame:
        columns = ("value", "offset")

    write = exactly_once(running.bootstrap, topic="t", query_id="q")
    with pytest.raises(SparkSourceError, match="columns value, offset"):
        write(cast("Any", Frame()), 0)


def test_a_query_without_a_context_needs_its_id(running: broker) -> None:
    """In Spark Connect there is none."""

    class Session:
        @property
        def sparkContext(self) -> None:
            raise PySparkAttributeError(
                errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": "sc"}
            )

    class Frame:
        columns = ("value",)
        schema = StructType([StructField("value", StringType())])
        sparkSession = Session()

    write = exactly_once(running.bootstrap, topic="t")
    with pytest.raises(SparkSourceError, match="no query id: use it in foreachBatch, or give"):
        write(cast("Any", Frame()), 0)
