"""The batches of a partition: read from its segments past any damage, their offsets and times
checked."""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from kafkalite.log.files import LOG_SUFFIX, parse_segment_file
from kafkalite.spark.audit.findings import Findings
from kafkalite.spark.batch_headers import HEADER_DTYPE, walk
from kafkalite.wire.compression import Compression
from kafkalite.wire.record_batch import (
    COMPRESSION_MASK,
    CONTROL_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_POSITION,
    RecordBatch,
)

# So far a batch is looked for behind damage, candidate by candidate.
_MOST_CANDIDATES: Final = 10_000


@dataclass(slots=True)
class Segment:
    """A segment's batches. `positions` and the rows of `fields` are those of whole batches."""

    base_offset: int
    path: Path
    size: int
    fields: Any
    positions: Any
    crc_ok: Any
    is_active: bool
    is_damaged: bool
    """True if bytes of it are no batches, or batches are not what was written."""

    @property
    def base_offsets(self) -> Any:
        return self.fields["base_offset"].astype(np.int64)

    @property
    def last_offsets(self) -> Any:
        return self.base_offsets + self.fields["last_offset_delta"]

    def batch(self, i: int) -> RecordBatch:
        """The i-th batch, read from the file. Raises OSError."""
        size = LOG_OVERHEAD + int(self.fields["batch_length"][i])
        with self.path.open("rb") as file:
            file.seek(int(self.positions[i]))
            return RecordBatch(file.read(size))

    def read(self) -> Any:
        """The file's bytes, mapped. Not for an empty one."""
        with self.path.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def read_segments(directory: Path, findings: Findings, *, is_held: bool) -> list[Segment]:
    """All segments of a log, by offset. Raises OSError."""
    names = sorted(path.name for path in directory.iterdir())
    logs: list[tuple[int, str]] = []
    for name in names:
        parsed = parse_segment_file(name)
        if parsed is None:
            continue
        if parsed[2]:
            findings.add("left-over", "is on its way in or out", file=name)
        elif parsed[1] == LOG_SUFFIX:
            logs.append((parsed[0], name))
    return [
        _read_segment(base, directory / name, findings, is_active=name == logs[-1][1], held=is_held)
        for base, name in logs
    ]


def _read_segment(
    base_offset: int, path: Path, findings: Findings, *, is_active: bool, held: bool
) -> Segment:
    size = path.stat().st_size
    empty = np.empty(0, HEADER_DTYPE)
    segment = Segment(
        base_offset, path, size, empty, np.empty(0, np.int64), np.empty(0, bool), is_active, False
    )
    if not size:
        return segment
    tables: list[Any] = []
    with segment.read() as data:
        view = memoryview(data)
        position = 0
        while True:
            headers = walk(view, position, check_crc=True)
            tables.append((headers.fields, headers.positions, headers.crc_ok))
            position = headers.end
            if position >= size:
                break
            following = _next_batch(view, position + 1)
            kind = _stop(view, position, headers.damage, following is None, is_active, held)
            findings.add(
                *kind, file=path.name, position=position, offset=_expected(tables, base_offset)
            )
            segment.is_damaged |= kind[0] != "active-tail"
            if following is None:
                break
            position = following
        view.release()
    segment.fields, segment.positions, segment.crc_ok = (
        np.concatenate([table[i] for table in tables]) for i in range(3)
    )
    for i in np.flatnonzero(~segment.crc_ok).tolist():
        segment.is_damaged = True
        findings.add(
            "checksum",
            f"the batch of {segment.fields['batch_length'][i] + LOG_OVERHEAD} bytes was changed",
            file=path.name,
            position=segment.positions[i],
            offset=segment.base_offsets[i],
        )
    return segment


def _expected(tables: list[Any], base_offset: int) -> int:
    """The offset that was to come."""
    for fields, _, _ in reversed(tables):
        if len(fields):
            return int(fields["base_offset"][-1]) + int(fields["last_offset_delta"][-1]) + 1
    return base_offset


def _stop(
    view: memoryview, position: int, damage: str | None, is_last: bool, is_active: bool, held: bool
) -> tuple[str, str]:
    """(kind, message): why no batch begins at `position`."""
    left = len(view) - position
    if is_last and not any(view[position : position + (1 << 20)]):
        return "zeroed-tail", f"the last {left} bytes are zeros"
    if damage is not None:
        return ("magic" if damage.startswith("magic") else "batch-length"), damage
    if not is_last:
        return "batch-length", "the batch's length reaches over batches that follow"
    if is_active and held:
        return "active-tail", f"{left} bytes of a batch so far"
    if is_active:
        return "torn-tail", f"{left} bytes of a batch that is longer"
    return "cut-batch", f"{left} bytes of a batch that is longer, and another segment follows"


def _next_batch(view: memoryview, start: int) -> int | None:
    """The position of the next batch with a right checksum, at or after `start`."""
    data = np.frombuffer(view, np.uint8)
    last = len(data) - HEADER_BYTES
    if start > last:
        return None
    magics = data[start + MAGIC_POSITION : last + MAGIC_POSITION + 1]
    # The first four bytes of a length, and the upper half of an offset, are zero for all real
    # batches.
    candidates = start + np.flatnonzero(magics == MAGIC)
    for position in candidates[:_MOST_CANDIDATES].tolist():
        length = int.from_bytes(view[position + 8 : position + 12], "big", signed=True)
        size = LOG_OVERHEAD + length
        if size < HEADER_BYTES or position + size > len(data):
            continue
        if RecordBatch(view[position : position + size]).is_valid():
            return position
    return None


def check_offsets(segments: list[Segment], findings: Findings, clean_up_to: int) -> None:
    """Offsets ascend without gaps; below `clean_up_to` compaction may have left some."""
    expected: int | None = None
    for segment in segments:
        name = segment.path.name
        if expected is not None and segment.base_offset > expected >= clean_up_to:
            findings.add(
                "segment-missing",
                f"begins at {segment.base_offset}, the one before ends at {expected}",
                file=name,
                offset=expected,
            )
            expected = segment.base_offset
        if not len(segment.fields):
            expected = max(expected or 0, segment.base_offset)
            continue
        bases, lasts = segment.base_offsets, segment.last_offsets
        if bases[0] < segment.base_offset:
            findings.add(
                "segment-name",
                f"the first batch begins at {bases[0]}",
                file=name,
                position=0,
                offset=bases[0],
            )
        before = np.concatenate([[(expected or segment.base_offset) - 1], lasts[:-1]])
        # Offsets of a damaged header are no second damage.
        good = segment.crc_ok & np.concatenate([[True], segment.crc_ok[:-1]])
        for i in np.flatnonzero((bases <= before) & good & (bases >= segment.base_offset)).tolist():
            findings.add(
                "offset-overlap",
                f"begins at {bases[i]}, the one before ends with {before[i]}",
                file=name,
                position=segment.positions[i],
                offset=bases[i],
            )
        gaps = (bases > before + 1) & good & (before + 1 >= clean_up_to)
        if segment.is_damaged:  # the batches that are missing were reported where they lie
            gaps &= False
        for i in np.flatnonzero(gaps).tolist():
            findings.add(
                "offset-gap",
                f"offsets [{before[i] + 1}, {bases[i]}) are missing",
                file=name,
                position=segment.positions[i],
                offset=before[i] + 1,
            )
        expected = int(lasts.max()) + 1


def check_headers(segments: list[Segment], findings: Findings) -> int:
    """Values that cannot be, and times that go back; how often producers' timestamps did."""
    gone_back = 0
    newest, newest_stamped = -1, -1
    for segment in segments:
        fields = segment.fields
        name = segment.path.name
        wrong = (
            ((fields["attributes"] & COMPRESSION_MASK) > max(Compression))
            | (fields["last_offset_delta"] < 0)
            | (fields["record_count"] < 0)
            | (fields["record_count"].astype(np.int64) > fields["last_offset_delta"] + 1)
        ) & segment.crc_ok
        for i in np.flatnonzero(wrong).tolist():
            findings.add(
                "header",
                f"attributes {fields['attributes'][i]:#x}, {fields['record_count'][i]} records, "
                f"last offset delta {fields['last_offset_delta'][i]}",
                file=name,
                position=segment.positions[i],
                offset=segment.base_offsets[i],
            )
        data = segment.crc_ok & ((fields["attributes"] & CONTROL_FLAG) == 0)
        data &= fields["record_count"] > 0
        stamped = (fields["attributes"] & LOG_APPEND_TIME_FLAG) != 0
        times = fields["max_timestamp"].astype(np.int64)
        newest_stamped = _check_clock(
            segment, np.flatnonzero(data & stamped), newest_stamped, findings
        )
        own = times[data & ~stamped]
        if len(own):
            highest = np.maximum.accumulate(np.concatenate([[newest], own]))
            gone_back += int((own < highest[:-1]).sum())
            newest = int(highest[-1])
    return gone_back


def _check_clock(segment: Segment, rows: Any, newest: int, findings: Findings) -> int:
    times = segment.fields["max_timestamp"].astype(np.int64)
    for i in rows.tolist():
        if times[i] < newest:
            findings.add(
                "time-goes-back",
                f"timestamp {times[i]} behind {newest}",
                file=segment.path.name,
                position=segment.positions[i],
                offset=segment.base_offsets[i],
            )
        newest = max(newest, int(times[i]))
    return newest


def check_epochs(
    segments: list[Segment], checkpoint: list[tuple[int, int]] | None, findings: Findings
) -> None:
    """Leader epochs ascend, and began where the checkpoint (epoch, start offset) says."""
    newest = -1
    starts = np.array([start for _, start in checkpoint or []], np.int64)
    for segment in segments:
        epochs = segment.fields["partition_leader_epoch"].astype(np.int64)
        bases = segment.base_offsets
        before = np.maximum.accumulate(np.concatenate([[newest], epochs]))[:-1]
        wrong = (epochs < before) & (epochs >= 0)
        if checkpoint:
            which = np.searchsorted(starts, bases, side="right") - 1
            told = np.array([epoch for epoch, _ in checkpoint], np.int64)[np.maximum(which, 0)]
            wrong |= (which >= 0) & (told != epochs) & (epochs >= 0)
        for i in np.flatnonzero(wrong).tolist():
            findings.add(
                "leader-epoch",
                f"epoch {epochs[i]} where {before[i]} was reached"
                if epochs[i] < before[i]
                else f"epoch {epochs[i]}, the checkpoint says {told[i]}",
                file=segment.path.name,
                position=segment.positions[i],
                offset=bases[i],
            )
        newest = int(max(newest, *epochs.tolist())) if len(epochs) else newest
