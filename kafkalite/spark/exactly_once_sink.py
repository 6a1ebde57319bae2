"""An exactly-once Kafka sink: a micro-batch's rows and the note that it is done, in one
transaction.

    query = (
        frame.writeStream.foreachBatch(exactly_once("localhost:9092", topic="out"))
        .option("checkpointLocation", ...)
        .start()
    )

Spark runs a micro-batch again when it does not know that it was done: after a driver died. Then the
note is there or it is not, and the rows with it. How that is made sure of:

1. The driver begins a transaction under the query's id. That fences every task of an earlier run,
  and ends what it left open.
2. Only then it reads the note: the last batch id of this query that was committed. A batch up to it
  is done, and skipped.
3. The rows are shuffled so that each topic's partition is written by exactly one task, and the
  tasks write under the one producer id and epoch. A task that is run again is refused: its sequence
  numbers could pass for those of the first attempt. The whole batch fails then, and is done anew.
4. The driver writes the note into the same transaction, and commits.

A note is a record in the compacted topic NOTES: key the query's id (Spark makes one for each
checkpoint), value the batch id. Readers of the sink's topics must read read_committed. Source:
KIP-98, KIP-447 (the fencing); Spark's StreamExecution (a batch id belongs to one range of offsets,
for ever).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkAttributeError, PySparkNotImplementedError
from pyspark.sql import DataFrame

from kafkalite.spark.client import Client, TopicPartition
from kafkalite.spark.data_directory import Isolation
from kafkalite.spark.encode import encode_batches
from kafkalite.spark.errors import SparkSourceError
from kafkalite.spark.network_reader import fetch_partition
from kafkalite.spark.partitioner import choose
from kafkalite.spark.schema import HEADERS_TYPE
from kafkalite.spark.sink import (
    TaskWriter,
    WriteOptions,
    check_types,
    explicit_or,
    write_options,
)
from kafkalite.spark.transactional_producer import Transaction
from kafkalite.wire.api_keys import EARLIEST, LATEST

NOTES = "kafkalite-spark-batches"
# The default of a broker's transaction.max.timeout.ms; a batch must end within it.
TRANSACTION_TIMEOUT_MS = 15 * 60 * 1000
_QUERY_ID = "sql.streaming.queryId"

# The steps of a batch, in order: a test dies at each.
STEPS = ("begun", "written", "noted", "committed")


def exactly_once(
    bootstrap: str,
    *,
    topic: str | None = None,
    query_id: str | None = None,
    tasks: int | None = None,
    transaction_timeout_ms: int = TRANSACTION_TIMEOUT_MS,
    options: dict[str, str] | None = None,
    on_step: Callable[[str], None] = lambda step: None,
) -> Callable[[DataFrame, int], None]:
    """A function for `foreachBatch`.

    Args:
        topic: where to, unless the column `topic` says it.
        query_id: Spark's own unless given; it must change with the checkpoint.
        tasks: how many write at once; `spark.sql.shuffle.partitions` unless given.
        transaction_timeout_ms: longer than any batch takes.
        options: further options of format("kafkalite"), such as kafka.compression.type.
    """

    def write(frame: DataFrame, batch_id: int) -> None:
        given = {"kafka.bootstrap.servers": bootstrap, **(options or {})}
        if topic is not None:
            given["topic"] = topic
        checked = write_options(given, frame.columns, overwrite=False)
        check_types(frame.schema)
        query = query_id or _query_of(frame)
        with Client(bootstrap) as client:
            client.create_topic(NOTES, 1, configs={"cleanup.policy": "compact"})
            transaction = Transaction.begin(client, f"kafkalite-{query}", transaction_timeout_ms)
            on_step("begun")
            if batch_id <= last_batch(client, query):
                return
            try:
                _write_rows(frame, checked, transaction, tasks)
                on_step("written")
                _write_note(client, transaction, query, batch_id)
                on_step("noted")
            except Exception:
                with suppress(SparkSourceError):  # the next batch's beginning ends it as well
                    transaction.end(commit=False)
                raise
            transaction.end(commit=True)
            on_step("committed")

    return write


def _query_of(frame: DataFrame) -> str:
    """The query's id, as Spark tells it to `foreachBatch`. Raises SparkSourceError."""
    query: str | None = None
    with suppress(PySparkAttributeError, PySparkNotImplementedError):  # Spark Connect has none
        query = frame.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
    if not query:
        raise SparkSourceError("no query id: use it in foreachBatch, or give query_id")
    return query


def last_batch(client: Client, query_id: str) -> int:
    """The last batch id that the query has committed; -1 if none."""
    partition = (NOTES, 0)
    start = client.list_offsets({partition: EARLIEST})[partition].offset
    end = client.list_offsets({partition: LATEST}, Isolation.READ_COMMITTED)[partition].offset
    last = -1
    for notes in fetch_partition(client, partition, start, end, isolation=Isolation.READ_COMMITTED):
        for key, value in zip(
            notes.column("key").to_pylist(), notes.column("value").to_pylist(), strict=True
        ):
            if key == query_id.encode():
                last = int(value)
    return last


def _write_note(client: Client, transaction: Transaction, query_id: str, batch_id: int) -> None:
    transaction.add((NOTES, 0))
    [note] = encode_batches(
        pa.array([query_id.encode()]),
        pa.array([str(batch_id).encode()]),
        np.array([time.time_ns() // 1_000_000]),
        producer=transaction.producer,
        base_sequence=0,
    )
    client.produce((NOTES, 0), note.data, transactional_id=transaction.transactional_id)


def _write_rows(
    frame: DataFrame, options: WriteOptions, transaction: Transaction, tasks: int | None
) -> None:
    """Each partition of a topic by one task: chosen, shuffled, written."""
    place, fields = _placed(frame, options)
    transactional_id, producer = transaction.transactional_id, transaction.producer
    count = tasks or int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        if context is not None and context.attemptNumber() > 0:
            raise SparkSourceError("a task was run again: the batch must begin anew")
        with Client(options.bootstrap) as client:
            mine = Transaction(client, transactional_id, producer)

            def before(partition: TopicPartition) -> None:
                if mine.has_written(partition):
                    raise SparkSourceError("a task was run again: the batch must begin anew")
                mine.add(partition)

            writer = TaskWriter(
                client,
                options,
                producer,
                transactional_id=transactional_id,
                before_partition=before,
            )
            for batch in batches:
                writer.write(batch)
            writer.flush()
        yield pa.RecordBatch.from_pydict({"rows": pa.array([writer.rows], pa.int64())})

    placed = frame.mapInArrow(place, fields)
    placed.repartition(count, "topic", "partition").mapInArrow(write, "rows bigint").collect()


def _placed(frame: DataFrame, options: WriteOptions) -> tuple[Any, str]:
    """A function that gives every row its topic and partition, and the columns it makes."""
    with_headers = "headers" in frame.columns
    fields = "key binary, value binary, topic string, partition int"
    if with_headers:
        fields += ", headers array<struct<key: string, value: binary>>"

    def place(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with Client(options.bootstrap) as client:
            there: dict[str, list[int]] = {}
            seen = 0
            for rows in batches:
                yield place_rows(rows, options, client, there, seen)
                seen += rows.num_rows

    return place, fields


def place_rows(
    rows: pa.RecordBatch,
    options: WriteOptions,
    client: Client,
    there: dict[str, list[int]],
    seen: int,
) -> pa.RecordBatch:
    """The rows with their topic and partition. Raises SparkSourceError, UnknownTopic."""
    names = rows.schema.names
    if options.topic is not None:
        topics = pa.repeat(options.topic, rows.num_rows)
    else:
        topics = rows.column("topic").cast(pa.string())
        if topics.null_count:
            raise SparkSourceError("null topic present in the data: give topic for a default")
    key = rows.column("key") if "key" in names else pa.nulls(rows.num_rows)
    key = key.cast(pa.binary())
    chosen = np.zeros(rows.num_rows, np.int64)
    listed = np.array(topics.to_pylist(), object)
    for topic in topics.unique().to_pylist():
        if topic not in there:
            there[topic] = client.partitions_to_write(topic)
        mine = listed == topic
        which = pa.array(mine)
        chosen[mine] = choose(key.filter(which), len(there[topic]), seen)
        if "partition" in names:
            named = rows.column("partition").filter(which)
            chosen[mine] = explicit_or(chosen[mine], named, topic, there[topic])
    columns = {
        "key": key,
        "value": rows.column("value").cast(pa.binary()),
        "topic": topics,
        "partition": pa.array(chosen, pa.int32()),
    }
    if "headers" in names:
        columns["headers"] = rows.column("headers").cast(HEADERS_TYPE)
    return pa.RecordBatch.from_pydict(columns)
