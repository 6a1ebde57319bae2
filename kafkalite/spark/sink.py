"""Writing a DataFrame into topics: the columns and rules of Spark's own Kafka sink.

Columns: `value` (needed), `key`, `topic`, `partition`, `headers`; key and value are binary or text.
Each task is an idempotent producer: a lost answer makes no duplicate. A task or a driver that is
run again does, as with Spark's own sink: rows are written at least once. Source: Spark's
KafkaWriter, KafkaWriteTask.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from kafkalite.spark.client import Client, TopicPartition
from kafkalite.spark.encode import MAX_BATCH_BYTES, Producer, encode_batches
from kafkalite.spark.errors import SparkSourceError, UnknownTopic
from kafkalite.spark.options import Options
from kafkalite.spark.partitioner import choose
from kafkalite.spark.producer_id import new_producer
from kafkalite.spark.schema import HEADERS_TYPE
from kafkalite.wire.compression import Compression
from kafkalite.wire.record_batch import increment_sequence

COLUMNS = ("key", "value", "topic", "partition", "headers")
_TYPES: Mapping[str, tuple[str, ...]] = {
    "key": ("binary", "string"),
    "value": ("binary", "string"),
    "topic": ("string",),
    "partition": ("int",),
    "headers": ("array<struct<key:string,value:binary>>",),
}
_ALL_NULL = "void"
# So much is gathered for a partition before it is sent.
_BUFFERED_BYTES = 16 << 20


@dataclass(frozen=True)
class WriteOptions:
    """The options of a write, checked."""

    bootstrap: str
    topic: str | None
    compression: Compression
    max_batch_bytes: int


def check_types(schema: StructType) -> None:
    """Check what columns hold, by Spark's names of types. Raises SparkSourceError."""
    for field in schema.fields:
        told = field.dataType.simpleString()
        wanted = _TYPES.get(field.name, ())
        if wanted and told not in (*wanted, _ALL_NULL):
            raise SparkSourceError(f"column {field.name} is {told}: it is {' or '.join(wanted)}")


def write_options(
    given: Mapping[str, str], columns: Sequence[str], overwrite: bool
) -> WriteOptions:
    """Check options and columns before a row is written. Raises SparkSourceError."""
    options = Options(given)
    if overwrite:
        raise SparkSourceError("save mode overwrite: a topic can only be appended to, use append")
    bootstrap = options.text("kafka.bootstrap.servers")
    if not bootstrap:
        raise SparkSourceError(
            "option kafka.bootstrap.servers is missing: name a broker as host:port"
        )
    strange = sorted(set(columns) - set(COLUMNS))
    if strange or "value" not in columns:
        raise SparkSourceError(
            f"columns {', '.join(columns)}: a topic takes {', '.join(COLUMNS)}, value at least"
        )
    topic = options.text("topic")
    if not topic and "topic" not in columns:
        raise SparkSourceError("say where to: option topic, or a column topic")
    codec = (options.text("kafka.compression.type") or "none").upper()
    if codec not in Compression.__members__:
        raise SparkSourceError(
            f"kafka.compression.type is {codec.lower()!r}: it is one of "
            f"{', '.join(name.lower() for name in Compression.__members__)}"
        )
    if options.text("kafka.transactional.id") is not None:
        raise SparkSourceError(
            "kafka.transactional.id: a task of Spark has no transaction; "
            "see docs/spark.md for exactly_once"
        )
    most = options.positive("kafka.batch.size") or MAX_BATCH_BYTES
    return WriteOptions(bootstrap, topic or None, Compression[codec], most)


@dataclass
class Written(WriterCommitMessage):
    """The outcome of one task."""

    rows: int


class TaskWriter:
    """Rows to partitions, as one producer: `write` and then `flush`."""

    def __init__(
        self,
        client: Client,
        options: WriteOptions,
        producer: Producer,
        *,
        transactional_id: str | None = None,
        before_partition: Callable[[TopicPartition], None] | None = None,
        now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self.rows = 0
        self._client = client
        self._options = options
        self._producer = producer
        self._transactional_id = transactional_id
        self._before_partition = before_partition
        self._now_ms = now_ms
        self._partitions: dict[str, list[int]] = {}
        self._sequences: dict[TopicPartition, int] = {}
        self._waiting: dict[TopicPartition, list[pa.RecordBatch]] = {}
        self._waiting_bytes: dict[TopicPartition, int] = {}

    def write(self, rows: pa.RecordBatch) -> None:
        """Raises SparkSourceError and what `Client.produce` raises."""
        if not rows.num_rows:
            return
        topics = self._topics(rows)
        rows = _prepared(rows)
        for topic in pc.unique(topics).to_pylist():
            which = np.flatnonzero(pc.equal(topics, topic).to_numpy(zero_copy_only=False))
            mine = rows if len(which) == rows.num_rows else rows.take(pa.array(which))
            self._write_topic(topic, mine)

    def _topics(self, rows: pa.RecordBatch) -> pa.Array:
        """The topic option wins over the column, as in Spark's own sink."""
        if self._options.topic is not None:
            return pa.repeat(self._options.topic, rows.num_rows)
        topics = rows.column("topic").cast(pa.string())
        if topics.null_count:
            raise SparkSourceError(
                "null topic present in the data: use the option topic for a default"
            )
        return topics

    def _write_topic(self, topic: str, rows: pa.RecordBatch) -> None:
        there = self._partitions.get(topic)
        if there is None:
            there = self._partitions[topic] = self._client.partitions_to_write(topic)
        chosen = choose(rows.column("key"), len(there), self.rows)
        if "partition" in rows.schema.names:
            chosen = explicit_or(chosen, rows.column("partition"), topic, there)
        self.rows += rows.num_rows
        for partition in np.unique(chosen).tolist():
            which = np.flatnonzero(chosen == partition)
            mine = rows if len(which) == rows.num_rows else rows.take(pa.array(which))
            self._add((topic, partition), mine)

    def _add(self, partition: TopicPartition, rows: pa.RecordBatch) -> None:
        self._waiting.setdefault(partition, []).append(rows)
        size = self._waiting_bytes.get(partition, 0) + rows.get_total_buffer_size()
        self._waiting_bytes[partition] = size
        if size >= _BUFFERED_BYTES:
            self._send(partition)

    def flush(self) -> None:
        """Send what waits; when it returns, all is acknowledged."""
        for partition in list(self._waiting):
            self._send(partition)

    def _send(self, partition: TopicPartition) -> None:
        rows = pa.Table.from_batches(self._waiting.pop(partition)).combine_chunks()
        self._waiting_bytes.pop(partition)
        if self._before_partition is not None and partition not in self._sequences:
            self._before_partition(partition)
        sequence = self._sequences.setdefault(partition, 0)
        headers = rows.column("headers") if "headers" in rows.schema.names else None
        for batch in encode_batches(
            rows.column("key"),
            rows.column("value"),
            np.full(rows.num_rows, self._now_ms(), np.int64),
            headers=headers,
            compression=self._options.compression,
            max_batch_bytes=self._options.max_batch_bytes,
            producer=self._producer,
            base_sequence=sequence,
        ):
            self._client.produce(partition, batch.data, transactional_id=self._transactional_id)
        self._sequences[partition] = increment_sequence(sequence, rows.num_rows)


def explicit_or(
    chosen: np.ndarray, column: pa.Array, topic: str, there: Sequence[int]
) -> np.ndarray:
    """The partitions that a column names; where it is null, the chosen ones. Raises
    UnknownTopic."""
    is_named = column.is_valid().to_numpy(zero_copy_only=False)
    named = column.cast(pa.int32()).fill_null(0).to_numpy(zero_copy_only=False)
    wrong = set(np.unique(named[is_named]).tolist()) - set(there)
    if wrong:
        raise UnknownTopic(f"topic {topic!r} has no partition {min(wrong)}")
    return np.where(is_named, named, chosen)


def _prepared(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Key and value as bytes, the other columns as they are; no key is a null key."""
    names = rows.schema.names
    columns = {"partition": rows.column("partition")} if "partition" in names else {}
    if "headers" in names:
        columns["headers"] = rows.column("headers").cast(HEADERS_TYPE)
    columns["value"] = rows.column("value").cast(pa.binary())
    key = rows.column("key") if "key" in names else pa.nulls(rows.num_rows)
    columns["key"] = key.cast(pa.binary())
    return pa.RecordBatch.from_pydict(columns)


def write_task(options: WriteOptions, rows: Iterator[pa.RecordBatch]) -> Written:
    """One task of a write: all its rows, by a producer of its own."""
    with Client(options.bootstrap) as client:
        writer = TaskWriter(client, options, new_producer(client))
        for batch in rows:
            writer.write(batch)
        writer.flush()
        return Written(writer.rows)


class BatchWriter(DataSourceArrowWriter):
    """`df.write.format("kafkalite")`."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write_task(self._options, iterator)


class StreamWriter(DataSourceStreamArrowWriter):
    """`df.writeStream.format("kafkalite")`: at least once."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        return write_task(self._options, iterator)

    def commit(self, messages: list[Any], batchId: int) -> None:
        """Nothing to do: what a task wrote is there."""

    def abort(self, messages: list[Any], batchId: int) -> None:
        """Nothing to undo: what a task wrote stays."""
