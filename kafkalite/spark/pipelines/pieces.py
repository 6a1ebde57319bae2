"""Pieces: what a task made of its part of the input, on the disk until it is delivered.

For each partition that a part has records for there are two files: the record batches, one after
the other, and the records' hashes. Parts are delivered in their order, so the topic is the same
however the tasks ran.
"""

from __future__ import annotations

import fcntl
import shutil
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafkalite.spark import digest
from kafkalite.spark.encode import EncodedBatch, encode_batches
from kafkalite.spark.local_path import local_path
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.wire.compression import Compression
from kafkalite.wire.record_batch import RecordBatch, iterate_batches

_LOCK: Final = "_lock"


class Piece(NamedTuple):
    """A part's records for one partition."""

    partition: int
    rows: int
    path: Path

    @property
    def hashes_path(self) -> Path:
        return self.path.with_suffix(".hashes")

    def batches(self) -> Iterator[RecordBatch]:
        """The batches, in order."""
        return iterate_batches(self.path.read_bytes())

    def hashes(self) -> Any:
        """The records' content hashes, in order."""
        return np.fromfile(self.hashes_path, np.uint64)

    def remove(self) -> None:
        self.path.unlink()
        self.hashes_path.unlink()


def _encode(records: Any, compression: Compression, **encoding: Any) -> Iterator[EncodedBatch]:
    names = records.schema.names
    return encode_batches(
        records.column("key"),
        records.column("value"),
        digest.milliseconds(records.column("timestamp")),
        headers=_whole(records.column("headers")) if "headers" in names else None,
        offsets=_whole(records.column("offset")).to_numpy() if "offset" in names else None,
        compression=compression,
        **encoding,
    )


def _whole(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


@dataclass
class PieceWriter:
    """Writes the pieces of one part into a directory, under names of its own: Spark may try a task
    twice at once."""

    directory: Path
    compression: Compression = Compression.NONE
    rows: dict[int, int] = field(default_factory=dict[int, int])
    _name: str = field(default_factory=lambda: uuid.uuid4().hex)

    def _path(self, partition: int) -> Path:
        return self.directory / f"{self._name}-{partition}.batches"

    def add(self, partition: int, records: Any, **encoding: Any) -> None:
        """Append records of one partition; `encoding` as for `encode_batches`."""
        data = [batch.data for batch in _encode(records, self.compression, **encoding)]
        self._write(partition, data, digest.content_hashes(records))

    def add_all(self, records: Any, partitions: Any) -> None:
        """Append records, each to its partition; those of one partition stay in their order.

        All are encoded together: of thousands of partitions each may have a few.
        """
        order = np.argsort(partitions, kind="stable")
        numbers, starts = np.unique(partitions[order], return_index=True)
        rows = records.take(order) if len(numbers) > 1 else records
        ends = np.append(starts, len(order))[1:].tolist()
        hashes = digest.content_hashes(rows)
        batches = _encode(rows, self.compression, breaks=starts.tolist())
        for partition, start, end in zip(numbers.tolist(), starts.tolist(), ends, strict=True):
            data: list[bytes] = []
            row = start
            while row < end:
                batch = next(batches)
                data.append(batch.data)
                row += batch.record_count
            self._write(partition, data, hashes[start:end])

    def _write(self, partition: int, batches: Sequence[bytes], hashes: Any) -> None:
        mode = "ab" if partition in self.rows else "wb"
        path = self._path(partition)
        with path.open(mode) as file:
            file.writelines(batches)
        with path.with_suffix(".hashes").open(mode) as file:
            hashes.tofile(file)
        self.rows[partition] = self.rows.get(partition, 0) + len(hashes)

    def pieces(self) -> list[Piece]:
        return [
            Piece(partition, rows, self._path(partition)) for partition, rows in self.rows.items()
        ]


def codec_named(name: str) -> Compression:
    """A codec by its name in `compression.type`. Raises PipelineError."""
    try:
        return Compression[name.upper()]
    except KeyError:
        raise PipelineError(
            f"compression {name!r} is none of none, gzip, snappy, lz4, zstd"
        ) from None


@contextmanager
def temporary_directory(pipeline: str, data_dir: str | Path | None) -> Iterator[Path]:
    """The folder where pieces lie for a while: on the disk they are meant for, outside of the
    logs. Those of runs that were killed are removed."""
    if data_dir is None:
        near = Path(tempfile.gettempdir())
    else:
        near = local_path(data_dir).resolve().parent
    prefix = f".kafkalite-{pipeline}-"
    for left in near.glob(f"{prefix}*"):
        _remove_unless_held(left)
    with (
        tempfile.TemporaryDirectory(prefix=prefix, dir=near) as name,
        (Path(name) / _LOCK).open("w") as lock,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield Path(name)


def _remove_unless_held(left: Path) -> None:
    """The lock of a run that was killed can be had."""
    with suppress(OSError), (left / _LOCK).open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(left)
