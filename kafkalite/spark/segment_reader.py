"""A partition's records out of its segment files, as Arrow, with no Python for a single record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from kafkalite.spark.aborted_transactions import aborted_transactions, is_aborted
from kafkalite.spark.batch_headers import BatchHeaders
from kafkalite.spark.data_directory import Isolation, bounds, partition_directory, trusted_until
from kafkalite.spark.decode import decode
from kafkalite.spark.decompress import unfold
from kafkalite.spark.errors import DamagedLog
from kafkalite.spark.segment_files import Chunk, read_batches
from kafkalite.spark.vectorized_records import CorruptRecords


def read_partition(
    data_dir: Path,
    topic: str,
    partition: int,
    start_offset: int,
    end_offset: int,
    *,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
    include_headers: bool = False,
) -> Iterator[pa.RecordBatch]:
    """The records with offsets in [start_offset, end_offset), ascending, as rows of Spark's Kafka
    source.

    The range is one that `bounds` allows. Markers are left out, and under READ_COMMITTED the
    records of aborted transactions.

    Raises:
        NotADataDirectory, UnknownTopic: there is no such log.
        OffsetOutOfRange: the log begins behind `start_offset` (retention).
        DamagedLog: bytes in the range are not what was written.
    """
    directory = partition_directory(data_dir, topic, partition)
    aborted = []
    if isolation is Isolation.READ_COMMITTED:
        trusted = trusted_until(data_dir, topic, partition)
        aborted = aborted_transactions(directory, start_offset, end_offset, trusted_until=trusted)
    for chunk in read_batches(directory, start_offset, end_offset):
        headers = chunk.headers
        if aborted:
            headers = headers.select(~is_aborted(headers, aborted))
        try:
            for unfolded in unfold(chunk.data, headers):
                records = decode(unfolded, topic, partition, include_headers=include_headers)
                records = between(records, start_offset, end_offset)
                if records.num_rows:
                    yield records
        except CorruptRecords as error:
            raise _unreadable(chunk, headers, error) from error


def between(records: pa.RecordBatch, start_offset: int, end_offset: int) -> pa.RecordBatch:
    """The rows with offsets in [start_offset, end_offset); offsets ascend. No copy."""
    if not records.num_rows:
        return records
    offsets = records.column("offset").to_numpy()
    first, last = offsets.searchsorted((start_offset, end_offset)).tolist()
    return records.slice(first, last - first)


def _unreadable(chunk: Chunk, headers: BatchHeaders, error: CorruptRecords) -> DamagedLog:
    first, last = (chunk.position + int(headers.positions[i]) for i in (0, -1))
    return DamagedLog(
        f"{chunk.path}: the records of the batches at positions {first} to {last} "
        f"cannot be read: {error}"
    )


def offset_for_timestamp(data_dir: Path, topic: str, partition: int, timestamp_ms: int) -> int:
    """The offset of the first record that is not earlier; -1 if there is none.

    Looks at the batches' largest timestamps, and at the records of one batch. Raises DamagedLog.
    """
    directory = partition_directory(data_dir, topic, partition)
    found = bounds(data_dir, topic, partition)
    for chunk in read_batches(directory, *found):
        headers = chunk.headers
        late = (headers.fields["max_timestamp"] >= timestamp_ms) & ~headers.is_control
        for i in np.flatnonzero(late).tolist():
            batch = headers.select(slice(i, i + 1))
            try:
                for unfolded in unfold(chunk.data, batch):
                    records = decode(unfolded, topic, partition, include_headers=False)
                    records = between(records, *found)
                    times = records.column("timestamp").cast(pa.int64()).to_numpy()
                    which = np.flatnonzero(times >= timestamp_ms * 1000)
                    if len(which):
                        return int(records.column("offset")[int(which[0])].as_py())
            except CorruptRecords as error:
                raise _unreadable(chunk, batch, error) from error
    return -1
