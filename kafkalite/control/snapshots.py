"""Snapshots of a cluster's data by hard links: no bytes are copied but those still being
written.

A segment that is closed is never written again, so a link to it is a copy; nor is a small file that
a new one takes the place of. Of active segments the bytes are copied that the plan of the snapshot
names (snapshot_plan.py). The mark of a clean shutdown makes opening the copy quick.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kafkalite.control.answers import SnapshotView
from kafkalite.control.snapshot_plan import Cut, Plan
from kafkalite.log.checkpoints import write_offsets
from kafkalite.log.files import (
    CLEAN_SHUTDOWN,
    FILES,
    LEADER_EPOCH_CHECKPOINT,
    LOCK,
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    PARTITION_METADATA,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    parse_segment_file,
)
from kafkalite.log.meta_properties import read_meta_properties, write_meta_properties

# Beside the logs of a snapshot: the cluster's time in ms. Apache Kafka does not look at it.
_TIME: Final = "kafkalite-snapshot-time"
# Another file takes their place when they change.
_REPLACED: Final = frozenset((LEADER_EPOCH_CHECKPOINT, PARTITION_METADATA))
_CHECKPOINT_SUFFIX: Final = ".checkpoint"
_ALL: Final = 1 << 62
_MODE: Final = 0o666


class FilesGoneError(Exception):
    """A file that was to be taken was deleted, compacted or moved meanwhile."""


def carry_out(plan: Plan, made: Path) -> None:
    """Make a snapshot in this directory; in a thread. Raises FilesGoneError and OSError."""
    shutil.rmtree(made, ignore_errors=True)  # of a try before
    made.mkdir(parents=True)
    for cut in plan.cuts.values():
        try:
            _take_log(cut, made)
        except FileNotFoundError as error:
            raise FilesGoneError from error
    for name, offsets in plan.checkpoints():
        write_offsets(FILES, made / name, offsets)
    for directory in plan.directories:
        for each in os.scandir(directory):
            is_wanted = each.name not in (LOCK, CLEAN_SHUTDOWN, _TIME) and each.is_file()
            if is_wanted and not (made / each.name).exists():
                _copy(each.path, str(made / each.name))
    (made / CLEAN_SHUTDOWN).write_text('{"version":0,"brokerEpoch":-1}')
    (made / _TIME).write_text(f"{plan.clock_ms}\n")


def _take_log(cut: Cut, made: Path) -> None:
    """Link and copy the files of one log. Raises FilesGoneError and OSError."""
    target = made / cut.directory.name
    target.mkdir()
    missing = set(cut.checkpoints)
    for each in os.scandir(cut.directory):
        size = _bytes_of(each.name, cut)
        missing.discard(each.name)
        if size is None:
            os.link(each.path, target / each.name)
        elif size >= 0:
            _copy(each.path, f"{target}/{each.name}", size)
    if missing:
        raise FilesGoneError


def _bytes_of(name: str, cut: Cut) -> int | None:
    """The bytes of a file that are copied; None for a link, below zero for what is left out."""
    if name in _REPLACED:
        return None
    parsed = parse_segment_file(name)
    if parsed is None:
        return -1 if name.endswith(_CHECKPOINT_SUFFIX) and name not in cut.checkpoints else _ALL
    offset, suffix, on_its_way = parsed
    if on_its_way or offset > cut.end_offset:
        return -1
    if suffix not in SEGMENT_SUFFIXES:
        return _ALL
    if offset != cut.base_offset:
        return None if offset < cut.base_offset else -1
    offset_index, time_index, transaction_index = cut.entries
    return {
        LOG_SUFFIX: cut.bytes,
        OFFSET_INDEX_SUFFIX: offset_index,
        TIME_INDEX_SUFFIX: time_index,
        TRANSACTION_INDEX_SUFFIX: transaction_index,
    }[suffix]


def put(made: Path, target: Path) -> SnapshotView:
    """Have a directory be the snapshot of this path, in another's place if there is one."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        shutil.rmtree(target)
    made.rename(target)
    return view(target)


def _copy(source: str, target: str, size: int = _ALL) -> None:
    """Copy the first bytes of a file. Raises OSError."""
    read = os.open(source, os.O_RDONLY)
    try:
        size = min(size, os.fstat(read).st_size)
        written = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
        try:
            while size and (count := os.copy_file_range(read, written, size)):
                size -= count
        finally:
            os.close(written)
    finally:
        os.close(read)


def unfold(snapshot: Path, directory: Path, cluster_id: str) -> None:
    """Make a data directory of this cluster of a snapshot, whose closed segments are links again.

    Raises InconsistentDataDirectory, OSError.
    """
    for folder, names in _folders(snapshot):
        target = directory / folder.relative_to(snapshot)
        target.mkdir(parents=True, exist_ok=True)
        closed = closed_segments(names)
        for name in names:
            if name in closed or name in _REPLACED:
                os.link(folder / name, target / name)
            elif name != _TIME:
                _copy(f"{folder}/{name}", f"{target}/{name}")
    known = read_meta_properties(directory, FILES)
    if known is not None:
        write_meta_properties(directory, known._replace(cluster_id=cluster_id), FILES)


def _folders(snapshot: Path) -> Iterator[tuple[Path, list[str]]]:
    """Each directory of a snapshot with the names of its files."""
    for folder, _, names in os.walk(snapshot):
        yield Path(folder), names


def closed_segments(names: list[str]) -> set[str]:
    """The files of a log's segments that another one follows."""
    parsed = [(name, parse_segment_file(name)) for name in names]
    bases = [each[0] for _, each in parsed if each is not None and each[1] == LOG_SUFFIX]
    active = max(bases, default=0)
    return {
        name
        for name, each in parsed
        if each is not None and each[1] in SEGMENT_SUFFIXES and each[0] < active
    }


def view(snapshot: Path) -> SnapshotView:
    """Says what a snapshot on the disk is made of."""
    files = linked = size = 0
    for folder, names in _folders(snapshot):
        closed = closed_segments(names)
        for name in names:
            if name != _TIME:
                files += 1
                status = os.stat(folder / name)
                size += status.st_size
                linked += name in closed and status.st_nlink > 1
    return SnapshotView(snapshot.name, files, linked, size, clock_ms(snapshot))


def clock_ms(snapshot: Path) -> int | None:
    """The time of the cluster when a snapshot was taken; None if it does not tell."""
    try:
        return int((snapshot / _TIME).read_text())
    except (FileNotFoundError, ValueError):
        return None
