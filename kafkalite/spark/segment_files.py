"""A log's segments as files that may change underneath: rolled, deleted, replaced by the cleaner.

A reader goes by offsets, not by files: it looks for the segment that holds the next offset, reads
batches from there, and looks again when a file is gone. The cleaner renames a finished replacement
to `.log.swap`, moves the old segments away, and renames it to `.log`; so a `.swap` counts as a
segment, and offsets that were read already are skipped. Source: log/README.md (crash states).
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kafkalite.log.files import (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    SWAP_SUFFIX,
    parse_segment_file,
    segment_file,
)
from kafkalite.spark.batch_headers import BatchHeaders, walk
from kafkalite.spark.errors import DamagedLog, OffsetOutOfRange
from kafkalite.wire.record_batch import HEADER_BYTES, LOG_OVERHEAD

CHUNK_BYTES = 8 << 20
# A file may be gone twice in a row; a hundred times is no race.
_MOST_LISTINGS = 100


class SegmentFile(NamedTuple):
    """A segment's file of batches."""

    base_offset: int
    path: Path


class Chunk(NamedTuple):
    """Whole batches of one file. `position` is where `data` lies in the file.

    The data is valid until the next chunk is asked for, which is read into the same memory.
    """

    path: Path
    position: int
    data: memoryview
    headers: BatchHeaders


def list_segments(directory: Path) -> list[SegmentFile]:
    """The segments by base offset. Two listings must agree: a rename may hide from one.

    Raises FileNotFoundError: the log is gone.
    """
    names = sorted(os.listdir(directory))
    for _ in range(_MOST_LISTINGS):
        again = sorted(os.listdir(directory))
        if again == names:
            break
        names = again
    found: dict[int, SegmentFile] = {}
    for name in names:
        parsed = parse_segment_file(name)
        if parsed is not None and parsed[1] == LOG_SUFFIX and parsed[2] in ("", SWAP_SUFFIX):
            # ".log.swap" sorts behind ".log" and replaces it
            found[parsed[0]] = SegmentFile(parsed[0], directory / name)
    return [found[base_offset] for base_offset in sorted(found)]


def read_batches(
    directory: Path, start_offset: int, end_offset: int, *, check_crc: bool = True
) -> Iterator[Chunk]:
    """The batches that touch [start_offset, end_offset), in order, each once.

    Raises:
        OffsetOutOfRange: the log begins behind `start_offset`.
        DamagedLog: a batch is none, its checksum is wrong, or the log ends before `end_offset`.
    """
    offset = start_offset
    finished: Path | None = None
    memory: list[memoryview] = []
    attempts = 0
    while offset < end_offset:
        segment, is_last = _segment_of(directory, offset, finished)
        if segment is not None and segment.base_offset >= end_offset:
            return
        if segment is None:
            if is_last:
                raise DamagedLog(f"{directory}: the log ends at offset {offset}, not {end_offset}")
            raise OffsetOutOfRange(f"{directory}: the log begins behind offset {offset}")
        try:
            descriptor = os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            attempts += 1
            if attempts > _MOST_LISTINGS:
                raise
            continue
        attempts = 0
        try:
            chunks = _read_segment(descriptor, segment, offset, end_offset, check_crc, memory)
            reached = yield from chunks
        finally:
            os.close(descriptor)
        offset = max(offset, reached)
        finished = segment.path


def _segment_of(
    directory: Path, offset: int, finished: Path | None
) -> tuple[SegmentFile | None, bool]:
    """The segment that holds `offset`, or the one behind `finished`; else None and whether all are
    read."""
    try:
        segments = list_segments(directory)
    except FileNotFoundError:
        return None, False
    i = bisect_right(segments, offset, key=lambda segment: segment.base_offset) - 1
    if i < 0:
        # nothing holds it: deleted, unless only the offsets between two segments are missing
        if finished is None or not segments:
            return None, False
        return segments[0], False
    if segments[i].path == finished:
        i += 1
    return (segments[i], False) if i < len(segments) else (None, True)


def _read_segment(
    descriptor: int,
    segment: SegmentFile,
    start_offset: int,
    end_offset: int,
    check_crc: bool,
    memory: list[memoryview],
) -> Generator[Chunk, None, int]:
    """The batches of one file; returns the offset behind the last that was seen."""
    reached = segment.base_offset
    size = os.fstat(descriptor).st_size
    position, enough = _positions(segment, start_offset, end_offset, size)
    if not _is_batch_at(descriptor, position, start_offset):
        position = 0  # an index that a crash left behind
    wanted = max(enough - position, HEADER_BYTES)
    while position + HEADER_BYTES <= size:
        data = _read(descriptor, position, min(wanted, CHUNK_BYTES, size - position), memory)
        headers = walk(data, check_crc=check_crc)
        if not headers.end:
            needed = _batch_size(data)
            if headers.damage is None and len(data) < needed <= size - position:
                wanted = needed
                data = _read(descriptor, position, needed, memory)
                headers = walk(data, check_crc=check_crc)
            if not headers.end:
                raise DamagedLog(
                    f"{segment.path}: no whole batch at position {position}"
                    f" ({headers.damage or 'cut short'})"
                )
        taken = _between(headers, start_offset, end_offset)
        good = len(taken.positions) if taken.crc_ok is None else _count_good(taken.crc_ok)
        if good:
            yield Chunk(segment.path, position, data, taken.select(slice(good)))
        if good < len(taken.positions):
            raise DamagedLog(
                f"{segment.path}: the checksum of the batch at position "
                f"{position + int(taken.positions[good])} (offset {int(taken.base_offsets[good])}) "
                "does not match its bytes"
            )
        reached = int(headers.last_offsets[-1]) + 1
        if reached >= end_offset:
            break
        position += headers.end
        wanted = CHUNK_BYTES
    return reached


def _between(headers: BatchHeaders, start_offset: int, end_offset: int) -> BatchHeaders:
    inside = (headers.last_offsets >= start_offset) & (headers.base_offsets < end_offset)
    return headers if inside.all() else headers.select(inside)


def _count_good(crc_ok: np.ndarray) -> int:
    """The number of batches before the first whose checksum is wrong."""
    return len(crc_ok) if crc_ok.all() else int(np.argmin(crc_ok))


def _read(descriptor: int, position: int, size: int, memory: list[memoryview]) -> memoryview:
    """Up to `size` bytes, in `memory[0]`; made anew where it is too small: fresh pages cost more
    than the reading."""
    if not memory or len(memory[0]) < size:
        memory[:] = [memoryview(bytearray(size))]
    data = memory[0]
    length = 0
    while length < size:
        count = os.preadv(descriptor, [data[length:size]], position + length)
        if not count:
            break
        length += count
    return data[:length]


def _batch_size(data: memoryview) -> int:
    return LOG_OVERHEAD + int.from_bytes(data[8:12], "big", signed=True)


def _is_batch_at(descriptor: int, position: int, offset: int) -> bool:
    """True if a batch that does not begin behind `offset` can be there."""
    head = os.pread(descriptor, HEADER_BYTES, position)
    if len(head) < HEADER_BYTES:
        return position == 0
    return head[16] == 2 and int.from_bytes(head[:8], "big", signed=True) <= offset


def _positions(
    segment: SegmentFile, start_offset: int, end_offset: int, size: int
) -> tuple[int, int]:
    """From the offset index: a position at or before `start_offset`, and one that is likely
    enough."""
    offsets, positions = offset_index(segment)
    i = int(np.searchsorted(offsets, start_offset, side="right")) - 1
    j = int(np.searchsorted(offsets, end_offset)) + 1
    start = int(positions[i]) if i >= 0 else 0
    end = int(positions[j]) if j < len(positions) else size
    return (start, end) if start < size else (0, size)


def offset_index(segment: SegmentFile) -> tuple[np.ndarray, np.ndarray]:
    """Offsets and positions of a segment's index; empty if it has none that can be used.

    Apache Kafka keeps the active segment's index preallocated: it ends in zeros.
    """
    name = segment.path.name
    second = SWAP_SUFFIX if name.endswith(SWAP_SUFFIX) else ""
    path = segment_file(segment.path.parent, segment.base_offset, OFFSET_INDEX_SUFFIX, second)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = b""
    entries = np.frombuffer(data[: len(data) // 8 * 8], ">i4").reshape(-1, 2).astype(np.int64)
    unused = np.flatnonzero((entries[1:] <= entries[:-1]).any(axis=1))
    if len(unused):
        entries = entries[: unused[0] + 1]
    return entries[:, 0] + segment.base_offset, entries[:, 1]


def end_of_log(directory: Path, *, trusted_until: int | None) -> int:
    """The offset behind the last whole batch: what a start would find.

    Up to `trusted_until` (the recovery point) nothing is checked, behind it every checksum; None:
    only the end is looked for.
    """
    segments = list_segments(directory)
    if not segments:
        return 0
    first = len(segments) - 1
    if trusted_until is not None:
        bases = [segment.base_offset for segment in segments]
        first = max(0, bisect_right(bases, trusted_until) - 1)
    end = segments[first].base_offset
    for segment in segments[first:]:
        is_whole, end = _end_of_segment(segment, max(end, segment.base_offset), trusted_until)
        if not is_whole:
            break
    return end


def _end_of_segment(segment: SegmentFile, end: int, trusted_until: int | None) -> tuple[bool, int]:
    """True if all of a segment is batches, and the offset behind the last of them."""
    descriptor = os.open(segment.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        offsets, positions = offset_index(segment)
        known = len(offsets) if trusted_until is None else np.searchsorted(offsets, trusted_until)
        position = int(positions[known - 1]) if known else 0
        if position >= size or not _is_batch_at(descriptor, position, 1 << 62):
            position = 0
        wanted = CHUNK_BYTES
        memory: list[memoryview] = []
        while position < size:
            data = _read(descriptor, position, min(wanted, size - position), memory)
            headers = walk(data, check_crc=trusted_until is not None)
            good = len(headers.positions)
            if headers.crc_ok is not None:
                good = _count_good(headers.crc_ok)
            if good:
                end = max(end, int(headers.last_offsets[good - 1]) + 1)
            if good < len(headers.positions) or headers.damage is not None:
                return False, end
            if not headers.end:
                wanted = _batch_size(data) if len(data) >= HEADER_BYTES else 0
                if not len(data) < wanted <= size - position:
                    return False, end
                continue
            position += headers.end
            wanted = CHUNK_BYTES
        return True, end
    finally:
        os.close(descriptor)
