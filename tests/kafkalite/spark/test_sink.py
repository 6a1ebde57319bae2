"""Rows become records: in the partition that Kafka's producer would choose, each once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
)

from kafkalite.spark.client import AUTO_CREATE_SECONDS, Client
from kafkalite.spark.errors import SparkSourceError, UnknownTopic
from kafkalite.spark.partitioner import choose
from kafkalite.spark.producer_id import new_producer
from kafkalite.spark.schema import HEADERS_TYPE
from kafkalite.spark.sink import (
    BatchWriter,
    StreamWriter,
    TaskWriter,
    check_types,
    write_options,
)
from kafkalite.testing import broker
from kafkalite.wire.compression import Compression

AT = {"kafka.bootstrap.servers": "a:1", "topic": "t"}
VALUE = ["value"]


def test_options_are_read() -> None:
    read = write_options({**AT, "kafka.compression.type": "zstd"}, ["key", "value"], False)
    assert (read.bootstrap, read.topic) == ("a:1", "t")
    assert read.compression is Compression.ZSTD
    by_row = write_options({"kafka.bootstrap.servers": "a:1"}, ["topic", "value"], False)
    assert (by_row.topic, by_row.compression) == (None, Compression.NONE)
    assert write_options({**AT, "kafka.batch.size": "77"}, VALUE, False).max_batch_bytes == 77


@pytest.mark.parametrize(
    ("given", "columns", "overwrite", "told"),
    [
        (AT, VALUE, True, "save mode overwrite"),
        ({"topic": "t"}, VALUE, False, "kafka.bootstrap.servers is missing"),
        (AT, ["key"], False, "value at least"),
        (AT, ["value", "offset"], False, "columns value, offset"),
        ({"kafka.bootstrap.servers": "a:1"}, VALUE, False, "say where to"),
        ({**AT, "kafka.compression.type": "rar"}, VALUE, False, "it is one of none, gzip"),
        ({**AT, "kafka.transactional.id": "x"}, VALUE, False, "exactly_once"),
    ],
)
def test_what_cannot_be_written_is_told_before_a_row_is(
    given: dict[str, str], columns: list[str], overwrite: bool, told: str
) -> None:
    with pytest.raises(SparkSourceError, match=told):
        write_options(given, columns, overwrite)


def struct(types: dict[str, DataType]) -> StructType:
    return StructType([StructField(name, each) for name, each in types.items()])


TEXT, BYTES, NUMBER = StringType(), BinaryType(), IntegerType()
HEADERS = ArrayType(StructType([StructField("key", TEXT), StructField("value", BYTES)]))


@pytest.mark.parametrize(
    "types",
    [
        {"value": TEXT},
        {"key": BYTES, "value": BYTES, "topic": TEXT, "partition": NUMBER},
        {"key": NullType(), "value": NullType(), "headers": HEADERS},
    ],
)
def test_columns_that_a_topic_takes(types: dict[str, DataType]) -> None:
    check_types(struct(types))


@pytest.mark.parametrize(
    ("types", "told"),
    [
        ({"value": NUMBER}, "column value is int: it is binary or string"),
        ({"value": TEXT, "key": DoubleType()}, "column key is double: it is binary or string"),
        ({"value": TEXT, "partition": LongType()}, "column partition is bigint: it is int"),
        ({"value": TEXT, "topic": BYTES}, "column topic is binary: it is string"),
        ({"value": TEXT, "headers": MapType(TEXT, BYTES)}, "column headers is map<"),
    ],
)
def test_columns_that_a_topic_does_not_take(types: dict[str, DataType], told: str) -> None:
    with pytest.raises(SparkSourceError, match=told):
        check_types(struct(types))


@pytest.fixture(scope="module")
def shared() -> Iterator[broker]:
    with broker() as b:
        yield b


@pytest.fixture
def running(shared: broker) -> Iterator[broker]:
    shared.create_topic("t", partitions=3)
    yield shared
    shared.reset()


def rows(**columns: Any) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(columns)


def written(
    running: broker, *batches: pa.RecordBatch, **given: str
) -> list[tuple[int, str | None]]:
    """Partition and value of each record that a task has written."""
    at = {"kafka.bootstrap.servers": running.bootstrap, **({"topic": "t"} | given)}
    options = write_options(
        {name: text for name, text in at.items() if text}, batches[0].schema.names, False
    )
    for made in (BatchWriter(options), StreamWriter(options)):
        before = len(running.records("t"))
        assert made.write(iter(batches)).rows == sum(each.num_rows for each in batches)
        assert len(running.records("t")) == before + sum(each.num_rows for each in batches)
    return [(each.partition, each.value) for each in running.records("t")]


def test_a_key_decides_the_partition(running: broker) -> None:
    keys = pa.array([b"a", b"b", b"c", b"d"], pa.binary())
    values = ["a", "b", "c", "d"]
    found = written(running, rows(key=keys, value=pa.array(values)))
    assert sorted(found) == sorted(2 * list(zip(choose(keys, 3).tolist(), values, strict=True)))


def test_a_partition_that_is_named_wins(running: broker) -> None:
    named = rows(
        key=pa.array([b"a"] * 3), value=pa.array(["x", "y", "z"]), partition=pa.array([2, 0, 2])
    )
    assert sorted(set(written(running, named))) == [(0, "y"), (2, "x"), (2, "z")]
    with pytest.raises(UnknownTopic, match="topic 't' has no partition 7"):
        written(running, rows(value=pa.array(["v"]), partition=pa.array([7])))
    with pytest.raises(UnknownTopic, match="topic 't' has no partition -1"):
        written(running, rows(value=pa.array(["v"]), partition=pa.array([-1])))


def test_columns_that_are_all_null_say_nothing(running: broker) -> None:
    """In SQL a bare NULL has a type of its own."""
    nothing = {name: pa.nulls(1) for name in ("key", "partition", "headers")}
    assert [value for _, value in written(running, rows(value=pa.array(["v"]), **nothing))] == [
        "v",
        "v",
    ]
    assert written(running, rows(value=pa.nulls(1)))[-1][1] is None


@pytest.mark.parametrize("header", [None, (None, b"x")])
def test_a_header_without_a_key_is_refused(running: broker, header: object) -> None:
    headers = pa.array([[("a", None), header]], HEADERS_TYPE)
    with pytest.raises(SparkSourceError, match="a header has no key"):
        written(running, rows(value=pa.array(["v"]), headers=headers))


def test_a_topic_that_cannot_be_is_told_at_once(running: broker) -> None:
    began = time.monotonic()
    with pytest.raises(UnknownTopic, match=r"'no/such'.*INVALID_TOPIC_EXCEPTION"):
        written(running, rows(value=pa.array(["v"])), topic="no/such")
    assert time.monotonic() - began < AUTO_CREATE_SECONDS


def test_the_topic_option_wins_over_the_column(running: broker) -> None:
    running.create_topic("u")
    both = rows(topic=pa.array(["u", "t"]), value=pa.array(["1", "2"]))
    assert len(written(running, both)) == 4
    assert running.records("u") == []
    with Client(running.bootstrap) as client:
        options = write_options(
            {"kafka.bootstrap.servers": running.bootstrap}, ["topic", "value"], False
        )
        writer = TaskWriter(client, options, new_producer(client))
        writer.write(both)
        writer.flush()
        assert [each.value for each in running.records("u")] == ["1"]
        with pytest.raises(SparkSourceError, match="null topic present"):
            writer.write(rows(topic=pa.array(["t", None]), value=pa.array(["1", "2"])))


def test_a_batch_that_is_sent_again_is_there_once(running: broker) -> None:
    from kafkalite.faults import drop

    running.fault("Produce", topic="t", do=drop.after)
    with Client(running.bootstrap) as client:
        options = write_options({**AT, "kafka.bootstrap.servers": running.bootstrap}, VALUE, False)
        writer = TaskWriter(client, options, new_producer(client), now_ms=lambda: 1234)
        for value in ("a", "b"):
            writer.write(rows(value=pa.array([value])))
            writer.flush()
        assert writer.rows == 2
    records = running.records("t")
    assert [each.value for each in records] == ["a", "b"]
    assert {each.timestamp for each in records} == {1234}


def test_a_partition_is_told_of_before_its_first_batch(running: broker) -> None:
    told: list[tuple[tuple[str, int], int]] = []
    with Client(running.bootstrap) as client:
        options = write_options({**AT, "kafka.bootstrap.servers": running.bootstrap}, VALUE, False)
        writer = TaskWriter(
            client,
            options,
            new_producer(client),
            before_partition=lambda each: told.append((each, len(running.records("t")))),
        )
        for _ in range(2):
            writer.write(rows(value=pa.array(["v"]), partition=pa.array([1])))
            writer.flush()
    assert told == [(("t", 1), 0)]
