"""The open and the aborted transactions of a log: READ_COMMITTED leaves them out.

Aborted ones stand in the transaction indexes. Where these cannot be trusted (behind the recovery
point of a broker that was killed), and for the open ones, the batches are walked from the latest
producer snapshot on. Only transactional batches are looked at one by one.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from kafkalite.log.files import (
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    parse_segment_file,
    segment_file,
)
from kafkalite.log.producer_snapshots import CorruptSnapshot, decode_snapshot
from kafkalite.log.transaction_index import TransactionIndex
from kafkalite.spark.batch_headers import BatchHeaders
from kafkalite.spark.errors import DamagedLog, OffsetOutOfRange
from kafkalite.spark.segment_files import SegmentFile, list_segments, read_batches
from kafkalite.wire.control_records import ControlRecordType, read_end_transaction_marker
from kafkalite.wire.record_batch import RecordBatch


class Aborted(NamedTuple):
    """An aborted transaction: its producer, its first offset and its marker's."""

    producer_id: int
    first_offset: int
    last_offset: int


class Walked(NamedTuple):
    """The transactions open at the end of a walk (producer to first offset), and those aborted in
    it."""

    open: dict[int, int]
    aborted: list[Aborted]


def first_unstable_offset(directory: Path, end_offset: int) -> int | None:
    """The first offset of the first transaction that is open before `end_offset`. None if none
    is."""
    return min(walk_transactions(directory, end_offset, end_offset).open.values(), default=None)


def aborted_transactions(
    directory: Path, start_offset: int, end_offset: int, *, trusted_until: int | None
) -> list[Aborted]:
    """The aborted transactions with records in [start_offset, end_offset).

    `trusted_until` is the offset up to which the indexes are right; None: all of them.
    """
    found: list[Aborted] = []
    segments = list_segments(directory)
    for i, segment in enumerate(segments):
        is_before = i + 1 < len(segments) and segments[i + 1].base_offset <= start_offset
        if not is_before:
            found += _indexed(directory, segment)
    if trusted_until is not None:
        found = [aborted for aborted in found if aborted.last_offset < trusted_until]
        end_of_all = np.iinfo(np.int64).max
        walked = walk_transactions(directory, trusted_until, end_of_all)
        found += [aborted for aborted in walked.aborted if aborted.last_offset >= trusted_until]
    return [
        aborted
        for aborted in found
        if aborted.last_offset >= start_offset and aborted.first_offset < end_offset
    ]


def is_aborted(headers: BatchHeaders, aborted: list[Aborted]) -> np.ndarray:
    """A mask of the batches that belong to an aborted transaction."""
    result = np.zeros(len(headers.positions), bool)
    transactional = headers.is_transactional & ~headers.is_control
    if not aborted or not transactional.any():
        return result
    base_offsets, last_offsets = headers.base_offsets, headers.last_offsets
    producer_ids = headers.fields["producer_id"].astype(np.int64)
    for each in aborted:
        if each.last_offset >= base_offsets[0] and each.first_offset <= last_offsets[-1]:
            result |= (
                (producer_ids == each.producer_id)
                & (base_offsets >= each.first_offset)
                & (last_offsets <= each.last_offset)
            )
    return result & transactional


def walk_transactions(directory: Path, from_offset: int, end_offset: int) -> Walked:
    """Follow the transactions from the latest snapshot up to `from_offset` on, to `end_offset`.

    Stops where the log does, or stops being sound.
    """
    start, open_transactions = _latest_snapshot(directory, from_offset)
    segments = list_segments(directory)
    if segments:
        start = max(start, segments[0].base_offset)
    aborted: list[Aborted] = []
    try:
        for chunk in read_batches(directory, start, end_offset):
            headers = chunk.headers
            which = headers.is_transactional & (headers.base_offsets >= start)
            if which.any():
                _follow(chunk.data, headers.select(which), open_transactions, aborted)
    except (DamagedLog, OffsetOutOfRange):
        # the log's end, where a walk without end must stop; damage below it is for the reader to
        # tell
        pass
    return Walked(open_transactions, aborted)


def _follow(
    data: memoryview,
    headers: BatchHeaders,
    open_transactions: dict[int, int],
    aborted: list[Aborted],
) -> None:
    for position, base_offset, producer_id, is_control in zip(
        headers.positions.tolist(),
        headers.base_offsets.tolist(),
        headers.fields["producer_id"].tolist(),
        headers.is_control.tolist(),
        strict=True,
    ):
        if not is_control:
            open_transactions.setdefault(producer_id, base_offset)
            continue
        marker = read_end_transaction_marker(RecordBatch(data, position))
        first_offset = open_transactions.pop(producer_id, None)
        if marker is not None and marker.control_type is ControlRecordType.ABORT:
            first = base_offset if first_offset is None else first_offset
            aborted.append(Aborted(producer_id, first, base_offset))


def _latest_snapshot(directory: Path, offset: int) -> tuple[int, dict[int, int]]:
    """The offset of the latest readable snapshot up to `offset`, and the transactions open then."""
    offsets = [
        parsed[0]
        for path in directory.iterdir()
        if (parsed := parse_segment_file(path.name)) and parsed[1:] == (SNAPSHOT_SUFFIX, "")
    ]
    for candidate in sorted((each for each in offsets if each <= offset), reverse=True):
        try:
            data = segment_file(directory, candidate, SNAPSHOT_SUFFIX).read_bytes()
            return candidate, {
                entry.producer_id: entry.transaction_first_offset
                for entry in decode_snapshot(data)
                if entry.transaction_first_offset is not None
            }
        except (CorruptSnapshot, FileNotFoundError):
            continue
    return 0, {}


def _indexed(directory: Path, segment: SegmentFile) -> list[Aborted]:
    second = SWAP_SUFFIX if segment.path.name.endswith(SWAP_SUFFIX) else ""
    path = segment_file(directory, segment.base_offset, TRANSACTION_INDEX_SUFFIX, second)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    layout = TransactionIndex.layout
    whole = data[: len(data) // layout.size * layout.size]
    return [
        Aborted(producer_id, first_offset, last_offset)
        for _, producer_id, first_offset, last_offset, _ in layout.iter_unpack(whole)
    ]


def markers(data: memoryview, headers: BatchHeaders) -> list[Aborted]:
    """The abort markers among the batches, each as a transaction that is its marker only."""
    found: list[Aborted] = []
    _follow(data, headers.select(headers.is_control), {}, found)
    return found
