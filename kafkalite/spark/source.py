"""`format("kafkalite")`: a PySpark data source with the schema and options of Spark's own for
Kafka.

PySpark 4.2 or newer. The planning (options, offsets, tasks) runs in a Python process of the driver,
the reading in the tasks' Python workers, which hand Arrow batches to Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from kafkalite.spark.errors import OffsetOutOfRange, UnknownTopic
from kafkalite.spark.options import Options, ReadOptions, read_options
from kafkalite.spark.planning import (
    OffsetRange,
    Offsets,
    batch_ranges,
    data_loss,
    from_json,
    rate_limited,
    resolve,
    stream_ranges,
    subscribed,
    to_json,
)
from kafkalite.spark.record_readers import Access, access
from kafkalite.spark.schema import spark_schema
from kafkalite.spark.sink import (
    BatchWriter,
    StreamWriter,
    WriteOptions,
    check_types,
    write_options,
)

NAME = "kafkalite"


def register(spark: SparkSession) -> None:
    """Make `format("kafkalite")` known to the session."""
    spark.dataSource.register(KafkaliteDataSource)


class KafkaliteDataSource(DataSource):
    """Batch and streaming reads and writes; options are checked before anything is read or
    written."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        return spark_schema(Options(self.options).boolean("includeHeaders", False))

    def reader(self, schema: Any) -> Reader:
        return Reader(read_options(self.options, streaming=False))

    def streamReader(self, schema: Any) -> StreamReader:
        return StreamReader(read_options(self.options, streaming=True))

    def writer(self, schema: Any, overwrite: bool) -> BatchWriter:
        return BatchWriter(self._write_options(schema, overwrite))

    def streamWriter(self, schema: Any, overwrite: bool) -> StreamWriter:
        return StreamWriter(self._write_options(schema, overwrite))

    def _write_options(self, schema: Any, overwrite: bool) -> WriteOptions:
        checked = write_options(self.options, schema.names, overwrite)
        check_types(schema)
        return checked


class RangePartition(InputPartition):
    """One task's offsets."""

    def __init__(self, offsets: OffsetRange) -> None:
        super().__init__(offsets)
        self.offsets = offsets


class Reader(DataSourceReader):
    """A batch read: the range is fixed when the partitions are planned."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[RangePartition]:
        way = access(self._options)
        try:
            return [RangePartition(each) for each in batch_ranges(way, self._options)]
        finally:
            way.close()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, RangePartition):
            return iter(())  # Spark's own, where there are none: nothing is to be read
        return read_range(self._options, partition.offsets)


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream of micro-batches; offsets are written into the checkpoint as Spark's own source
    does."""

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._access: Access | None = None
        self._target: Offsets | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_options": self._options, "_access": None, "_target": None}

    @property
    def _way(self) -> Access:
        if self._access is None:
            self._access = access(self._options)
        return self._access

    def initialOffset(self) -> dict[str, dict[str, int]]:
        options = self._options
        bounds = self._way.bounds(subscribed(self._way, options), options.isolation)
        return to_json(resolve(self._way, options, options.start, bounds, is_start=True))

    def getDefaultReadLimit(self) -> ReadLimit:
        limit = self._options.max_offsets_per_trigger
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def _latest(self) -> Offsets:
        bounds = self._way.bounds(subscribed(self._way, self._options), self._options.isolation)
        return {each: found.end_offset for each, found in bounds.items()}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, dict[str, int]]:
        begin = from_json(start)
        end = self._not_back(begin, self._latest())
        if self._target is not None:
            self._check_target(end)
            end = {
                **self._not_back(begin, self._target),
                **{each: begin[each] for each in begin.keys() - self._target.keys()},
            }
        if isinstance(limit, ReadMaxRows):
            new = [each for each in end if each not in begin]
            found = self._way.bounds(new, self._options.isolation) if new else {}
            starts = {**begin, **{each: at.start_offset for each, at in found.items()}}
            end = rate_limited(
                limit.max_rows, starts, {k: v for k, v in end.items() if k in starts}
            )
        return to_json(end)

    def _not_back(self, begin: Offsets, end: Offsets) -> Offsets:
        """The end, not before where the query is, if the log still reaches there: a broker that was
        killed and comes back says in its files what it knows to be committed some seconds later."""
        back = {each: at for each, at in begin.items() if end.get(each, at) < at}
        if not back:
            return end
        found = self._way.bounds(back, self._options.isolation, back)
        reached = {each: min(back[each], at.end_offset) for each, at in found.items()}
        return {**end, **{each: max(end[each], at) for each, at in reached.items()}}

    def _check_target(self, end: Offsets) -> None:
        """An AvailableNow run fixes its end when it begins: what it promised must stay."""
        for each, target in (self._target or {}).items():
            if end.get(each, -1) < target:
                raise OffsetOutOfRange(
                    f"the run was to end with offset {target} of {each[0]}-{each[1]}, which is gone"
                )

    def reportLatestOffset(self) -> dict[str, dict[str, int]]:
        return to_json(self._latest())

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = self._latest()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[RangePartition]:
        ranges = stream_ranges(self._way, self._options, from_json(start), from_json(end))
        return [RangePartition(each) for each in ranges]

    def read(self, partition: RangePartition) -> Iterator[pa.RecordBatch]:
        return read_range(self._options, partition.offsets)

    def stop(self) -> None:
        if self._access is not None:
            self._access.close()
            self._access = None


def read_range(options: ReadOptions, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
    """A task's rows. Records that are gone, by retention or with their topic, are data loss, or
    left out if that is allowed."""
    partition = (wanted.topic, wanted.partition)
    way = access(options)
    start = wanted.start
    try:
        while start < wanted.end:
            try:
                for records in way.read(partition, start, wanted.end, options):
                    start = int(records.column("offset")[-1].as_py()) + 1
                    yield records
                return
            except (OffsetOutOfRange, UnknownTopic) as error:
                data_loss(options, str(error))
                found = way.bounds([partition], options.isolation).get(partition)
                if found is None:
                    return
                left = wanted._replace(
                    start=max(start, found.start_offset), end=min(wanted.end, found.end_offset)
                )
                is_all = (left.start, left.end) == (start, wanted.end)
                if is_all and isinstance(error, OffsetOutOfRange):
                    raise  # it is all there again, and yet could not be read
                start, wanted = left.start, left
    finally:
        way.close()
