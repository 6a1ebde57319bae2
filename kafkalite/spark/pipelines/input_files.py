"""Parquet, JSON and CSV files as tables, in parts that are read apart from each other.

A part is a file, or some row groups of a Parquet file. The order of the rows is that of the files'
names and of the rows in them, whichever executor reads which part.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from kafkalite.spark.local_path import local_path
from kafkalite.spark.pipelines.errors import PipelineError

_SUFFIXES: Final = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_PACKED: Final = (".gz", ".bz2", ".zst", ".lz4")
FORMATS: Final = ("parquet", "csv", "json")
# A part has about so many rows, and where they are large, not many more bytes, if the file can be
# split. A task goes through it in steps, which it holds in memory.
_PART_ROWS: Final = 250_000
_PART_BYTES: Final = 256 << 20
_STEP_ROWS: Final = 65_536
_STEP_BYTES: Final = 64 << 20
# Arrow's own size of a block, and the largest.
_BLOCK_BYTES: Final = 1 << 20
_LARGEST_BLOCK_BYTES: Final = 1 << 28


@dataclass(frozen=True, slots=True)
class FilePart:
    """Some rows of one file; all of it unless row groups are named."""

    path: str
    format: str
    row_groups: tuple[int, ...] = ()
    schema: Any = None
    """The types to read a JSON file with."""

    def tables(self) -> Iterator[Any]:
        """The rows, some at a time. Raises PipelineError for a file that cannot be read."""
        try:
            if self.format == "parquet":
                with pa.parquet.ParquetFile(self.path) as file:
                    groups = list(self.row_groups)
                    step = _step_rows(_bytes_of_row(file.metadata, groups))
                    for batch in file.iter_batches(step, row_groups=groups):
                        yield pa.Table.from_batches([batch])
                return
            table = _read(self.path, self.format, self.schema)
        except (pa.ArrowException, OSError) as error:
            raise _unreadable(self.path, self.format, error) from error
        for start in range(0, table.num_rows, _STEP_ROWS):
            yield table.slice(start, _STEP_ROWS)


@dataclass(frozen=True, slots=True)
class GeneratedPart:
    """Rows made from a seed: a key of 8 digits, a value of random letters, a number as a header."""

    seed: int
    first: int
    count: int
    value_bytes: int
    timestamp_ms: int

    def tables(self) -> Iterator[Any]:
        chance = np.random.default_rng([self.seed, self.first])
        step = _step_rows(self.value_bytes)
        for start in range(self.first, self.first + self.count, step):
            rows = min(step, self.first + self.count - start)
            letters = chance.integers(97, 123, rows * self.value_bytes, np.uint8)
            value = pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(self.value_bytes), rows, [None, pa.py_buffer(letters)]
            )
            numbers = pa.array(chance.integers(10**7, 10**8, rows))
            yield pa.table(
                {
                    "key": numbers.cast(pa.string()),
                    "value": value.cast(pa.large_binary()),
                    "timestamp": pa.array(self.timestamp_ms + np.arange(start, start + rows)),
                    "number": pa.array(np.arange(start, start + rows)),
                }
            )


def generated_parts(
    count: int, seed: int, value_bytes: int, timestamp_ms: int
) -> list[GeneratedPart]:
    """`count` rows in parts; the same seed makes the same rows."""
    size = _at_most(_PART_ROWS, _PART_BYTES, value_bytes)
    return [
        GeneratedPart(seed, first, min(size, count - first), value_bytes, timestamp_ms)
        for first in range(0, count, size)
    ]


def _at_most(rows: int, size: int, bytes_of_row: int) -> int:
    """So many rows, or as many as are so many bytes, and one at least."""
    return max(1, min(rows, size // max(1, bytes_of_row)))


def _step_rows(bytes_of_row: int) -> int:
    return _at_most(_STEP_ROWS, _STEP_BYTES, bytes_of_row)


def _bytes_of_row(metadata: Any, groups: Sequence[int]) -> int:
    """The bytes of a row, on average, as a Parquet file knows them: unpacked."""
    of_groups = [metadata.row_group(i) for i in groups]
    rows = sum(each.num_rows for each in of_groups)
    return sum(each.total_byte_size for each in of_groups) // max(1, rows)


def find_files(inputs: Sequence[str | Path], format: str | None = None) -> list[tuple[str, str]]:
    """(path, format) of every file named, and of those in directories named, sorted.

    Raises PipelineError where there is none, or its format cannot be told.
    """
    found: list[tuple[str, str]] = []
    for named in inputs:
        given = local_path(named).absolute()  # executors have working directories of their own
        if given.is_dir():
            # Folders with such names hold what is not rows: unfinished files of Spark
            # (_temporary), the log of a Delta table (_delta_log).
            inside = sorted(
                path
                for path in given.rglob("*")
                if path.is_file()
                and not any(p.startswith((".", "_")) for p in path.relative_to(given).parts)
            )
            paths = [path for path in inside if format or _format_by_name(path)]
            if not paths:
                raise PipelineError(f"there is no Parquet, CSV or JSON file in {given}")
        elif given.exists():
            paths = [given]
        else:
            raise PipelineError(f"there is no file {given}")
        for path in paths:
            known = format or _format_by_name(path)
            if known is None:
                raise PipelineError(
                    f"{path}: neither .parquet, .csv nor .json; say which with --format"
                )
            found.append((str(path), known))
    return found


def _format_by_name(path: Path) -> str | None:
    """By the suffix; before that of a compression, which Arrow undoes, for CSV and JSON."""
    *before, last = ["", *(suffix.lower() for suffix in path.suffixes)]
    if last in _PACKED and before:
        packed = _SUFFIXES.get(before[-1])
        return packed if packed != "parquet" else None
    return _SUFFIXES.get(last)


def split(path: str, format: str) -> tuple[Any, list[FilePart], int | None]:
    """(schema, parts, rows if known) of a file. Raises PipelineError when it cannot be read."""
    try:
        if format != "parquet":
            # The types are those of all rows: there is no way around reading them.
            schema = _read(path, format).schema
            if format == "json":
                schema = pa.schema([_as_written(field) for field in schema])
                return schema, [FilePart(path, format, schema=schema)], None
            return schema, [FilePart(path, format)], None
        with pa.parquet.ParquetFile(path) as file:
            metadata = file.metadata
            parts: list[FilePart] = []
            groups: list[int] = []
            rows = size = 0
            for i in range(metadata.num_row_groups):
                groups.append(i)
                rows += metadata.row_group(i).num_rows
                size += metadata.row_group(i).total_byte_size
                is_full = rows >= _PART_ROWS or size >= _PART_BYTES
                if is_full or i == metadata.num_row_groups - 1:
                    parts.append(FilePart(path, format, tuple(groups)))
                    groups, rows, size = [], 0, 0
            return file.schema_arrow, parts, metadata.num_rows
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, format, error) from error


def _as_written(field: Any) -> Any:
    """A field of JSON: text that looks like a time stays the text that it is."""
    kind = field.type
    if pa.types.is_timestamp(kind):
        kind = pa.string()
    elif pa.types.is_struct(kind):
        kind = pa.struct([_as_written(kind.field(i)) for i in range(kind.num_fields)])
    elif pa.types.is_list(kind):
        kind = pa.list_(_as_written(kind.value_field))
    return field.with_type(kind)


def _read(path: str, format: str, schema: Any = None) -> Any:
    """All rows of a CSV or JSON file. It is read by blocks, in each of which a row must end."""
    is_packed = Path(path).suffix.lower() in _PACKED
    size = _LARGEST_BLOCK_BYTES if is_packed else Path(path).stat().st_size
    block_size = _BLOCK_BYTES
    while True:
        try:
            if format == "csv":
                # Without being told, it takes a line break in quotes for the end of a block's row.
                lines = pa.csv.ParseOptions(newlines_in_values=True)
                return pa.csv.read_csv(path, pa.csv.ReadOptions(block_size=block_size), lines)
            types = pa.json.ParseOptions(explicit_schema=schema, newlines_in_values=True)
            return pa.json.read_json(path, pa.json.ReadOptions(block_size=block_size), types)
        except pa.ArrowInvalid as error:
            if "straddling" not in str(error) or block_size > min(size, _LARGEST_BLOCK_BYTES):
                raise
        block_size *= 4


def _unreadable(path: str, format: str, error: Exception) -> PipelineError:
    reason = str(error).splitlines()[0].rstrip(".")
    return PipelineError(f"{path} cannot be read as {format}: {reason}")
