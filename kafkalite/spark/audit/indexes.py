"""The files beside a segment: what indexes and snapshots say, held against the batches.

An index is sparse, so what is missing is no damage; what is there must be right. The last segment's
may be behind, or longer than what was written (Kafka allocates them in advance), unless the broker
closed it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kafkalite.log.files import (
    OFFSET_INDEX_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    parse_segment_file,
    segment_file,
)
from kafkalite.log.producer_snapshots import CorruptSnapshot, decode_snapshot
from kafkalite.spark.audit.batches import Segment
from kafkalite.spark.audit.findings import Findings
from kafkalite.spark.audit.producers import Aborted

OFFSET_ENTRY = np.dtype([("offset", ">i4"), ("position", ">i4")])
TIME_ENTRY = np.dtype([("timestamp", ">i8"), ("offset", ">i4")])
TRANSACTION_ENTRY = np.dtype(
    [
        ("version", ">i2"),
        ("producer_id", ">i8"),
        ("first_offset", ">i8"),
        ("last_offset", ">i8"),
        ("last_stable_offset", ">i8"),
    ]
)


def check_indexes(segment: Segment, findings: Findings, *, is_closed: bool) -> None:
    """A segment's offset and time index. `is_closed`: a broker finished them. Raises OSError."""
    is_finished = is_closed or not segment.is_active
    directory = segment.path.parent
    for suffix, layout in ((OFFSET_INDEX_SUFFIX, OFFSET_ENTRY), (TIME_INDEX_SUFFIX, TIME_ENTRY)):
        path = segment_file(directory, segment.base_offset, suffix)
        if not path.exists():
            if is_finished and segment.size:
                findings.add("index-missing", "is not there", file=path.name)
            continue
        entries = _entries(path, layout, findings)
        if not is_finished:
            entries = entries[: _used(entries)]
        if entries is None or not len(entries) or segment.is_damaged:
            continue
        if suffix == OFFSET_INDEX_SUFFIX:
            _check_offset_index(segment, path, entries, findings)
        else:
            _check_time_index(segment, path, entries, findings, is_finished=is_finished)


def _entries(path: Path, layout: np.dtype[Any], findings: Findings) -> Any:
    data = path.read_bytes()
    whole = len(data) // layout.itemsize * layout.itemsize
    if whole != len(data):
        findings.add(
            "index-size",
            f"{len(data)} bytes are no whole number of entries of {layout.itemsize}",
            file=path.name,
            position=whole,
        )
    return np.frombuffer(data[:whole], layout)


def _used(entries: Any) -> int:
    """The number of entries before the zeros at the end."""
    used = np.flatnonzero(entries != np.zeros(1, entries.dtype)[0])
    return int(used[-1]) + 1 if len(used) else 0


def _out_of_order(path: Path, entries: Any, names: tuple[str, ...], findings: Findings) -> bool:
    for name in names:
        wrong = np.flatnonzero(np.diff(entries[name].astype(np.int64)) <= 0)
        if len(wrong):
            i = int(wrong[0]) + 1
            findings.add(
                "index-order",
                f"entry {i} has {name} {entries[name][i]} behind {entries[name][i - 1]}",
                file=path.name,
                position=i * entries.dtype.itemsize,
            )
            return True
    return False


def _check_offset_index(segment: Segment, path: Path, entries: Any, findings: Findings) -> None:
    """Each entry leads to a batch that begins at or before its offset, which is a batch's last."""
    if _out_of_order(path, entries, ("offset", "position"), findings):
        return
    positions = entries["position"].astype(np.int64)
    offsets = segment.base_offset + entries["offset"].astype(np.int64)
    at = np.searchsorted(segment.positions, positions)
    at = np.minimum(at, max(len(segment.positions) - 1, 0))
    if not len(segment.positions):
        wrong = np.ones(len(entries), bool)
    else:
        wrong = segment.positions[at] != positions
        wrong |= segment.base_offsets[at] > offsets
        wrong |= ~np.isin(offsets, segment.last_offsets)
    for i in np.flatnonzero(wrong).tolist():
        findings.add(
            "offset-index",
            f"entry {i} says that the batch up to offset {offsets[i]} lies at {positions[i]}",
            file=path.name,
            position=i * OFFSET_ENTRY.itemsize,
            offset=offsets[i],
        )


def _check_time_index(
    segment: Segment, path: Path, entries: Any, findings: Findings, *, is_finished: bool
) -> None:
    """Each entry is the largest timestamp up to its offset; a finished index ends with the
    largest."""
    if _out_of_order(path, entries, ("timestamp",), findings):
        return
    times = entries["timestamp"].astype(np.int64)
    offsets = segment.base_offset + entries["offset"].astype(np.int64)
    if not len(segment.fields):
        return
    largest = np.maximum.accumulate(segment.fields["max_timestamp"].astype(np.int64))
    at = np.searchsorted(segment.last_offsets, offsets)
    wrong = at >= len(largest)
    wrong |= largest[np.minimum(at, len(largest) - 1)] != times
    for i in np.flatnonzero(wrong).tolist():
        findings.add(
            "time-index",
            f"entry {i} says that {times[i]} is the largest timestamp up to offset {offsets[i]}",
            file=path.name,
            position=i * TIME_ENTRY.itemsize,
            offset=offsets[i],
        )
    if is_finished and not wrong.any() and times[-1] != largest[-1]:
        findings.add(
            "time-index",
            f"ends with timestamp {times[-1]}, the segment's largest is {largest[-1]}",
            file=path.name,
            position=len(entries) * TIME_ENTRY.itemsize,
        )


def check_transaction_indexes(
    segments: list[Segment],
    aborted: list[Aborted],
    findings: Findings,
    clean_up_to: int,
    *,
    is_closed: bool,
) -> None:
    """Every aborted transaction with records has its entry, and every entry its transaction."""
    wanted = {(each.producer_id, each.last_offset): each for each in aborted}
    for segment in segments:
        path = segment_file(segment.path.parent, segment.base_offset, TRANSACTION_INDEX_SUFFIX)
        entries = _entries(path, TRANSACTION_ENTRY, findings) if path.exists() else []
        if segment.is_damaged:
            end = max(segment.last_offsets.tolist(), default=segment.base_offset)
            for key in [key for key in wanted if segment.base_offset <= key[1] <= end]:
                del wanted[key]
            continue
        for i, entry in enumerate(entries):
            key = (int(entry["producer_id"]), int(entry["last_offset"]))
            known = wanted.pop(key, None)
            first = int(entry["first_offset"])
            is_right = known is not None and (
                known.first_offset in (-1, first) or first < clean_up_to
            )
            if not is_right and key[1] >= clean_up_to:
                findings.add(
                    "transaction-index",
                    f"entry {i}: producer {key[0]} aborted no transaction over [{first}, {key[1]}]",
                    file=path.name,
                    position=i * TRANSACTION_ENTRY.itemsize,
                    offset=first,
                )
    for (producer_id, last_offset), each in wanted.items():
        if each.first_offset >= 0 and last_offset >= clean_up_to:
            findings.add(
                "transaction-index",
                f"producer {producer_id}'s transaction from offset {each.first_offset} was "
                f"aborted at {last_offset}, and no index says so",
                offset=each.first_offset,
            )


def check_snapshots(
    directory: Path, segments: list[Segment], findings: Findings, clean_up_to: int
) -> None:
    """Producer snapshots: whole, and saying of each producer's last batch what the log says."""
    for path in sorted(directory.glob(f"*{SNAPSHOT_SUFFIX}")):
        if parse_segment_file(path.name) is None:
            continue
        try:
            entries = decode_snapshot(path.read_bytes())
        except CorruptSnapshot as error:
            findings.add("snapshot", str(error), file=path.name)
            continue
        for entry in entries:
            told = _batch_of(segments, entry.last_offset)
            if entry.last_offset < clean_up_to or told is None:
                continue
            if told not in (
                (entry.producer_id, entry.last_offset, entry.last_sequence),
                (entry.producer_id, entry.last_offset, -1),
            ):
                findings.add(
                    "snapshot",
                    f"producer {entry.producer_id} ended at offset {entry.last_offset} "
                    f"with sequence {entry.last_sequence}; that batch is producer {told[0]}'s, "
                    f"up to offset {told[1]}, sequence {told[2]}",
                    file=path.name,
                    offset=entry.last_offset,
                )


def _batch_of(segments: list[Segment], offset: int) -> tuple[int, int, int] | None:
    """(producer id, last offset, last sequence or -1) of the batch that holds an offset, if one
    does."""
    for segment in segments:
        if segment.is_damaged or not len(segment.fields):
            continue
        lasts = segment.last_offsets
        i = int(np.searchsorted(lasts, offset))
        if i < len(lasts) and segment.base_offsets[i] <= offset:
            fields = segment.fields[i]
            sequence = int(fields["base_sequence"])
            last = -1 if sequence < 0 else (sequence + int(fields["last_offset_delta"])) % 2**31
            return int(fields["producer_id"]), int(lasts[i]), last
    return None
