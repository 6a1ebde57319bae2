"""The records inside the batches: whether they can be read, and whether they are what the header
says."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalite.spark.audit.batches import Segment
from kafkalite.spark.audit.findings import Findings
from kafkalite.spark.batch_headers import BatchHeaders
from kafkalite.spark.decode import TimestampTooFar, decode
from kafkalite.spark.decompress import unfold
from kafkalite.spark.digest import key_hashes, milliseconds
from kafkalite.spark.vectorized_records import CorruptRecords
from kafkalite.wire.compression import DecompressionError
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import (
    DELETE_HORIZON_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    RecordBatch,
    iterate_records,
)

_CHUNK_BYTES: Final = 16 << 20
_CONTROL_FLAG: Final = 0x20


class RecordCheck:
    """Goes through a partition's records, segment by segment, and keeps what concerns all of it."""

    def __init__(self, findings: Findings, clean_up_to: int) -> None:
        self._findings = findings
        self._clean_up_to = clean_up_to
        self._keys: list[Any] = []
        self._offsets: list[Any] = []
        self.rows = 0
        self.value_bytes = 0

    def check(self, segment: Segment) -> None:
        """Raises OSError."""
        fields = segment.fields
        data = segment.crc_ok & ((fields["attributes"] & _CONTROL_FLAG) == 0)
        data &= (fields["record_count"] > 0) & (fields["attributes"] & 0x07 <= 4)
        rows = np.flatnonzero(data)
        if not len(rows):
            return
        ends = np.cumsum(fields["batch_length"][rows].astype(np.int64) + LOG_OVERHEAD)
        with segment.read() as mapped, memoryview(mapped) as view:
            for number in np.unique(ends // _CHUNK_BYTES).tolist():
                self._check_some(segment, view, rows[ends // _CHUNK_BYTES == number])

    def _check_some(self, segment: Segment, view: memoryview, rows: Any) -> None:
        """Batches of some megabytes together; one by one if that fails."""
        start = int(segment.positions[rows[0]])
        end = int(segment.positions[rows[-1]]) + LOG_OVERHEAD
        end += int(segment.fields["batch_length"][rows[-1]])
        data = bytes(view[start:end])
        headers = BatchHeaders(
            segment.fields[rows], segment.positions[rows] - start, end - start, None, None
        )
        try:
            first = 0
            tables = [
                (each.fields, decode(each, "", 0, include_headers=False))
                for each in unfold(data, headers)
            ]
        except CorruptRecords:
            for i in rows.tolist():
                self._check_one(segment, i)
            return
        for fields, table in tables:
            self._check_table(segment, rows[first : first + len(fields)], fields, table)
            first += len(fields)

    def _check_one(self, segment: Segment, i: int) -> None:
        """One batch, by the wire's own reader, which says what is wrong with it."""
        batch = segment.batch(i)
        problem = _problem(batch)
        if problem is not None:
            self._add(segment, i, *problem)
            return
        headers = BatchHeaders(
            segment.fields[i : i + 1], np.zeros(1, np.int64), len(batch.buffer), None, None
        )
        try:
            for each in unfold(batch.buffer, headers):
                table = decode(each, "", 0, include_headers=False)
                self._check_table(segment, np.array([i]), each.fields, table)
        except TimestampTooFar as error:
            self.rows += batch.record_count
            self._add(segment, i, "timestamp-too-far", str(error))

    def _check_table(self, segment: Segment, rows: Any, fields: Any, table: Any) -> None:
        self.rows += table.num_rows
        self.value_bytes += pc.sum(pc.binary_length(table.column("value"))).as_py() or 0
        counts = fields["record_count"].astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        offsets = table.column("offset").to_numpy()
        bases = fields["base_offset"].astype(np.int64)
        lasts = bases + fields["last_offset_delta"]
        ascending = np.concatenate([[True], np.diff(offsets) > 0])
        ascending[starts] = True
        outside = (offsets < np.repeat(bases, counts)) | (offsets > np.repeat(lasts, counts))
        for i in np.unique(
            np.repeat(np.arange(len(counts)), counts)[~ascending | outside]
        ).tolist():
            self._add(segment, rows[i], "record-offsets", "the records' offsets are not in order")
        self._check_times(segment, rows, fields, table, starts)
        if self._clean_up_to > 0:
            self._keep_keys(segment, table)

    def _check_times(
        self, segment: Segment, rows: Any, fields: Any, table: Any, starts: Any
    ) -> None:
        """The header's largest timestamp, where it is the records' (not after a partial clean)."""
        largest = np.maximum.reduceat(milliseconds(table.column("timestamp")), starts)
        told = fields["max_timestamp"].astype(np.int64)
        flags = LOG_APPEND_TIME_FLAG | DELETE_HORIZON_FLAG
        own = (fields["attributes"] & flags) == 0
        for i in np.flatnonzero(own & (largest != told)).tolist():
            self._add(
                segment,
                rows[i],
                "largest-timestamp",
                f"{told[i]} in the header, {largest[i]} in the records",
            )

    def _add(self, segment: Segment, i: int, kind: str, message: str) -> None:
        self._findings.add(
            kind,
            message,
            file=segment.path.name,
            position=segment.positions[i],
            offset=segment.base_offsets[i],
        )

    def _keep_keys(self, segment: Segment, table: Any) -> None:
        offsets = table.column("offset").to_numpy()
        keys = table.column("key")
        missing = np.flatnonzero(pc.is_null(keys).to_numpy(zero_copy_only=False))
        if len(missing):
            self._findings.add(
                "null-key",
                f"{len(missing)} records without a key",
                file=segment.path.name,
                offset=offsets[missing[0]],
            )
        clean = offsets < self._clean_up_to
        if clean.any():
            self._keys.append(key_hashes(keys.filter(pa.array(clean))))
            self._offsets.append(offsets[clean])

    def finish(self) -> None:
        """Keys that are there twice in the clean part."""
        if not self._keys:
            return
        keys, offsets = np.concatenate(self._keys), np.concatenate(self._offsets)
        order = np.lexsort((offsets, keys))
        same = np.flatnonzero(np.diff(keys[order]) == 0) if len(keys) > 1 else np.zeros(0, np.int64)
        for i in same.tolist():
            self._findings.add(
                "compaction",
                f"offset {offsets[order[i + 1]]} has the same key, and is clean, too",
                offset=offsets[order[i]],
            )


def _problem(batch: RecordBatch) -> tuple[str, str] | None:
    """(kind, message) of what is wrong with a batch's records; None if they can be read."""
    try:
        count = sum(1 for _ in iterate_records(batch))
    except KafkaError as error:
        cause = error.__cause__
        if isinstance(cause, DecompressionError) or error.code is ErrorCode.CORRUPT_MESSAGE:
            return "compression", str(cause or error.message)
        return "records", error.message or error.code.name
    if count != batch.record_count or len(batch.buffer) < HEADER_BYTES:
        return "records", f"{count} records, the header says {batch.record_count}"
    return None
