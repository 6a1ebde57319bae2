"""The columns of a file that become a record's key, value, partition, timestamp and headers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalite.spark.decode import MAX_TIMESTAMP_MS
from kafkalite.spark.digest import milliseconds
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.spark.pipelines.json_rows import json_objects, json_values, plain
from kafkalite.spark.pipelines.partitioner import by_key

EVERYTHING: Final = "*"
HEADERS_TYPE: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of columns.

    Attributes:
        value: one column (bytes and text as they are, others as their text), several separated by
            commas (a JSON object with these), or `*` (a JSON object with all).
        key: one column; None: no keys.
        partition: an integer column; None: by the key's hash, as Kafka's producers do, and in turn
            where there is no key.
        timestamp: milliseconds, of a timestamp type, or text in the form of ISO 8601, without a
            zone UTC; None: `timestamp_ms` for all.
        headers: (header's name, column) pairs; a name `*` stands for a column that holds lists of
            structs of key and value.
    """

    value: str = EVERYTHING
    key: str | None = None
    partition: str | None = None
    timestamp: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    timestamp_ms: int = 0

    def check(self, schema: Any, where: str) -> None:
        """Raises PipelineError when a file with this schema does not fit."""
        for name in [*self._named(), *self._value_columns(schema.names)]:
            if name not in schema.names:
                raise PipelineError(
                    f"{where} has no column {name!r}; it has {', '.join(schema.names)}"
                )
            if schema.names.count(name) > 1:
                raise PipelineError(f"{where} has several columns named {name!r}")
        if self.partition is not None:
            kind = schema.field(self.partition).type
            if not pa.types.is_integer(kind):
                raise PipelineError(f"{where}: column {self.partition!r} is {kind}, no partition")
        if self.timestamp is not None:
            kind = schema.field(self.timestamp).type
            if not (pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or _is_text(kind)):
                raise PipelineError(f"{where}: column {self.timestamp!r} is {kind}, no timestamp")
        for header, name in self.headers:
            kind = schema.field(name).type
            if header == EVERYTHING and not _is_headers(kind):
                raise PipelineError(
                    f"{where}: column {name!r} is {kind}, not a list of structs of key and value"
                )

    def _named(self) -> list[str]:
        single = [self.key, self.partition, self.timestamp, *(name for _, name in self.headers)]
        return [name for name in single if name is not None]

    def _value_columns(self, names: list[str]) -> list[str]:
        return names if self.value == EVERYTHING else self.value.split(",")

    def records(self, table: Any, partition_count: int, first_row: int) -> tuple[Any, Any]:
        """(records as `encode_batches` takes them, the partition of each). Raises PipelineError."""
        names = self._value_columns(table.column_names)
        if self.value != EVERYTHING and len(names) == 1:
            value = _text(table.column(names[0]), names[0])
        else:
            value = json_objects(table, names).cast(pa.large_binary())
        rows = table.num_rows
        key = pa.nulls(rows, pa.large_binary())
        if self.key is not None:
            key = _text(table.column(self.key), self.key)
        if self.timestamp is None:
            timestamps = np.full(rows, self.timestamp_ms, np.int64)
        else:
            column = _times(table.column(self.timestamp), self.timestamp)
            if column.null_count:
                raise PipelineError(f"column {self.timestamp!r} has rows without a timestamp")
            timestamps = milliseconds(column)
            too_far = np.abs(timestamps) > MAX_TIMESTAMP_MS
            if too_far.any():
                found = timestamps[np.argmax(too_far)]
                raise PipelineError(
                    f"column {self.timestamp!r} has the time {found}, which is too far: "
                    "milliseconds since 1970 are wanted"
                )
        columns = {"key": key, "value": value, "timestamp": pa.array(timestamps)}
        if self.headers:
            columns["headers"] = self._headers(table)
        partitions = self._partitions(table, key, partition_count, first_row)
        return pa.table(columns), partitions

    def _partitions(self, table: Any, key: Any, partition_count: int, first_row: int) -> Any:
        if self.partition is None:
            return by_key(key, partition_count, first_row)
        column = _whole(table.column(self.partition))
        partitions = column.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        wrong = (partitions < 0) | (partitions >= partition_count)
        if wrong.any():
            value = column[int(np.flatnonzero(wrong)[0])].as_py()
            raise PipelineError(
                f"column {self.partition!r} names partition {value}, "
                f"and there are 0 to {partition_count - 1}"
            )
        return partitions

    def _headers(self, table: Any) -> Any:
        header, name = self.headers[0]
        if header == EVERYTHING:
            return _whole(table.column(name)).cast(HEADERS_TYPE)
        count, rows = len(self.headers), table.num_rows
        values = [_text(table.column(name), name) for _, name in self.headers]
        # Column after column, then row by row.
        order = pa.array(np.arange(count * rows).reshape(count, rows).T.ravel())
        flat = pa.concat_arrays(values).take(order).cast(pa.binary())
        keys = pa.array([header for header, _ in self.headers] * rows, pa.string())
        entries = pa.StructArray.from_arrays([keys, flat], fields=list(HEADERS_TYPE.value_type))
        return pa.ListArray.from_arrays(pa.array(np.arange(rows + 1) * count, pa.int32()), entries)


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _is_text(kind: Any) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def _times(column: Any, name: str) -> Any:
    """A column of times; those that are text, read. Raises PipelineError."""
    column = plain(column)
    if not _is_text(column.type):
        return column
    try:
        return column.cast(pa.timestamp("us", "UTC"))
    except pa.ArrowInvalid:
        pass  # some have no zone
    try:
        return column.cast(pa.timestamp("us"))
    except pa.ArrowInvalid as error:
        raise PipelineError(f"column {name!r} has a text that is no time: {error}") from error


def _is_headers(kind: Any) -> bool:
    if not (pa.types.is_list(kind) and pa.types.is_struct(kind.value_type)):
        return False
    return {field.name for field in kind.value_type} == {"key", "value"}


def _text(column: Any, name: str) -> Any:
    """Bytes and text as they are, anything else as its text."""
    column = plain(column)
    kind = column.type
    if pa.types.is_large_binary(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return column.cast(pa.large_binary())
    text = json_values(column, name)
    if pa.types.is_temporal(kind):
        text = column.cast(pa.large_string())
    return pc.if_else(pc.is_valid(column), text, None).cast(pa.large_binary())
