"""A broker's data directory, seen from outside: what is in it, and up to where it may be read.

Nothing is written, nothing is locked, and the broker may be running, stopped or killed:

- **running** (it holds `.lock`): up to the high watermark in `replication-offset-checkpoint`, which
  it writes every `replica.high.watermark.checkpoint.interval.ms` (the broker itself knows the
  newest);
- **stopped** (it left `.kafka_cleanshutdown`): the same checkpoint, which was written last of all;
- **killed**: up to the end of the last whole batch, as the next start will find it.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
import uuid
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from kafkalite.log.checkpoints import CorruptCheckpoint, read_offsets, read_topic_id
from kafkalite.log.files import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARK_CHECKPOINT,
    LOCK,
    LOG_START_OFFSET_CHECKPOINT,
    META_PROPERTIES,
    PARTITION_METADATA,
    RECOVERY_POINT_CHECKPOINT,
    Files,
    parse_partition_directory,
    parse_segment_file,
)
from kafkalite.spark import aborted_transactions, segment_files
from kafkalite.spark.errors import NotADataDirectory, UnknownTopic

# The KRaft log: metadata, no records of users.
_METADATA_TOPIC = "__cluster_metadata"
# struct flock of Linux: type, whence, start, length, process
_FLOCK = struct.Struct("hhqqi4x")


class Isolation(StrEnum):
    """Kafka's `isolation.level`."""

    READ_UNCOMMITTED = "read_uncommitted"
    READ_COMMITTED = "read_committed"


class StoredPartition(NamedTuple):
    """A partition's log in a data directory."""

    topic: str
    partition: int
    path: Path


class Bounds(NamedTuple):
    """Offsets that may be read: from `start_offset` to before `end_offset`."""

    start_offset: int
    end_offset: int


def list_partitions(data_dir: Path, only: tuple[str, int] | None = None) -> list[StoredPartition]:
    """The partitions of all topics, Kafka's own topics included, by name and number; or one.

    Raises NotADataDirectory.
    """
    check_is_data_directory(data_dir)
    names = None if only is None else [f"{only[0]}-{only[1]}"]
    return sorted(each for each in _logs(data_dir, names) if each.topic != _METADATA_TOPIC)


def _logs(data_dir: Path, names: list[str] | None = None) -> Iterator[StoredPartition]:
    """The folders named topic-number that hold a file of a log: a name alone is not enough."""
    for name in os.listdir(data_dir) if names is None else names:
        parsed = parse_partition_directory(name)
        if parsed is not None and _holds_log(data_dir / name):
            yield StoredPartition(*parsed, data_dir / name)


def _holds_log(path: Path) -> bool:
    """True if it has a segment, or the topic id that a broker writes when it makes the log."""
    if not path.is_dir():
        return False
    return any(
        name == PARTITION_METADATA or parse_segment_file(name) is not None
        for name in os.listdir(path)
    )


def check_is_data_directory(data_dir: Path) -> None:
    """Raises NotADataDirectory: it is not there, or nothing of a broker is in it."""
    if not data_dir.is_dir():
        raise NotADataDirectory(
            f"{data_dir} is no directory: name a broker's data directory (its log.dirs)"
        )
    known = {META_PROPERTIES, HIGH_WATERMARK_CHECKPOINT, RECOVERY_POINT_CHECKPOINT}
    if known.isdisjoint(os.listdir(data_dir)) and next(_logs(data_dir), None) is None:
        raise NotADataDirectory(
            f"{data_dir} is no data directory: there is neither {META_PROPERTIES} nor a "
            "topic-partition directory with a log in it"
        )


def partition_directory(data_dir: Path, topic: str, partition: int) -> Path:
    """The directory of that log. Raises NotADataDirectory, UnknownTopic."""
    path = data_dir / f"{topic}-{partition}"
    if not path.is_dir():
        check_is_data_directory(data_dir)
        raise UnknownTopic(f"{data_dir} has no partition {partition} of topic {topic!r}")
    return path


def is_held(data_dir: Path) -> bool:
    """True if a living broker has the directory.

    Asks about the lock without taking it. In a broker's own process the file is not even opened:
    closing it would give up the lock.
    """
    lock = sys.modules.get("kafkalite.log.directory_lock")  # a broker here has imported it
    if lock is not None and lock.is_locked_here(data_dir):
        return True
    try:
        descriptor = os.open(data_dir / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        asked = _FLOCK.pack(fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        answer = _FLOCK.unpack(fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
        return bool(answer[0] != fcntl.F_UNLCK)
    finally:
        os.close(descriptor)


def bounds(
    data_dir: Path,
    topic: str,
    partition: int,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
    *,
    known_end: int = 0,
) -> Bounds:
    """The offsets of a partition that may be read, up to `known_end` if the log reaches it.

    Raises NotADataDirectory, UnknownTopic, DamagedLog."""
    path = partition_directory(data_dir, topic, partition)
    start = log_start_offset(data_dir, topic, partition)
    end = _end_offset(data_dir, topic, partition, path, start)
    if known_end > end:
        trusted = trusted_until(data_dir, topic, partition)
        end = max(end, min(known_end, segment_files.end_of_log(path, trusted_until=trusted)))
    if isolation is Isolation.READ_COMMITTED:
        unstable = aborted_transactions.first_unstable_offset(path, end)
        if unstable is not None:
            end = min(end, unstable)
    return Bounds(start, max(start, end))


def log_start_offset(data_dir: Path, topic: str, partition: int) -> int:
    """The first offset that is not deleted: where the first segment begins, or DeleteRecords
    cut."""
    path = partition_directory(data_dir, topic, partition)
    segments = segment_files.list_segments(path)
    first = segments[0].base_offset if segments else 0
    return max(first, checkpoint(data_dir, LOG_START_OFFSET_CHECKPOINT).get((topic, partition), 0))


def trusted_until(data_dir: Path, topic: str, partition: int) -> int | None:
    """Up to which offset the indexes are right; None: everywhere, for no crash is unrepaired."""
    if (data_dir / CLEAN_SHUTDOWN).exists() or is_held(data_dir):
        return None
    return checkpoint(data_dir, RECOVERY_POINT_CHECKPOINT).get((topic, partition), 0)


def _end_offset(data_dir: Path, topic: str, partition: int, path: Path, start: int) -> int:
    high_watermark = high_watermark_of(data_dir, topic, partition)
    if is_held(data_dir):
        return start if high_watermark is None else high_watermark
    if (data_dir / CLEAN_SHUTDOWN).exists():
        if high_watermark is not None:
            return high_watermark
        return segment_files.end_of_log(path, trusted_until=None)
    recovery_point = checkpoint(data_dir, RECOVERY_POINT_CHECKPOINT).get((topic, partition), 0)
    return segment_files.end_of_log(path, trusted_until=recovery_point)


def high_watermark_of(data_dir: Path, topic: str, partition: int) -> int | None:
    """The high watermark in the checkpoint; None if there is none."""
    return checkpoint(data_dir, HIGH_WATERMARK_CHECKPOINT).get((topic, partition))


def topic_id_of(data_dir: Path, topic: str, partition: int) -> uuid.UUID | None:
    """The topic id in a partition's directory; None if it is not there, or broken."""
    try:
        return read_topic_id(Files(), data_dir / f"{topic}-{partition}" / PARTITION_METADATA)
    except CorruptCheckpoint:
        return None


def checkpoint(data_dir: Path, name: str) -> Mapping[tuple[str, int], int]:
    """An offset checkpoint; empty if it is not there or broken, as a broker takes it.

    It names every partition, and is asked for each of them: what was read is kept until the file
    is another.
    """
    path = data_dir / name
    try:
        found = path.stat()
    except OSError:
        return {}
    identity = (found.st_ino, found.st_mtime_ns, found.st_size)
    kept = _checkpoints.get(path)
    if kept is None or kept[0] != identity:
        try:
            kept = identity, read_offsets(Files(), path)
        except CorruptCheckpoint:
            kept = identity, {}
        _checkpoints[path] = kept
    return kept[1]


_checkpoints: dict[Path, tuple[tuple[int, int, int], Mapping[tuple[str, int], int]]] = {}
