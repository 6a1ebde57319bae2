"""The seam to the disk: all file operations of the log, and all file names.

Tests pass a `Files` of their own that fails the n-th operation, writes short, or forgets what was
not fsynced. Names are Kafka's. A segment's files are named by its base offset in 20 digits and a
suffix. A file on its way in or out has a second suffix (README.md, crash states).
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from kafkalite.log import page_cache

LOG_SUFFIX = ".log"
OFFSET_INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
SEGMENT_SUFFIXES = (
    LOG_SUFFIX,
    OFFSET_INDEX_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)

DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
RECOVERY_POINT_CHECKPOINT = "recovery-point-offset-checkpoint"
LOG_START_OFFSET_CHECKPOINT = "log-start-offset-checkpoint"
HIGH_WATERMARK_CHECKPOINT = "replication-offset-checkpoint"
CLEANER_CHECKPOINT = "cleaner-offset-checkpoint"
META_PROPERTIES = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"

DELETED_DIRECTORY_SUFFIX = "-delete"
STRAY_DIRECTORY_SUFFIX = "-stray"
FUTURE_DIRECTORY_SUFFIX = "-future"

# The longest name of a file or directory, in bytes.
LONGEST_NAME = 255

_SEGMENT_FILE = re.compile(r"(\d{20})(\.[a-z]+)(\.deleted|\.cleaned|\.swap)?")
_DELETED_DIRECTORY = re.compile(r".*-\d+\.[^.]+" + DELETED_DIRECTORY_SUFFIX)
_FUTURE_DIRECTORY = re.compile(r"(.+)\.[^.]+" + FUTURE_DIRECTORY_SUFFIX)


def segment_file(directory: Path, base_offset: int, suffix: str, second_suffix: str = "") -> Path:
    """The path of one of a segment's files."""
    return directory / segment_file_name(base_offset, suffix, second_suffix)


def segment_file_name(base_offset: int, suffix: str, second_suffix: str = "") -> str:
    """The name of one of a segment's files: `00000000000000001234.index.cleaned`."""
    return f"{base_offset:020d}{suffix}{second_suffix}"


def parse_segment_file(name: str) -> tuple[int, str, str] | None:
    """(base offset, suffix, second suffix or "") of a segment's or snapshot's file, else None."""
    match = _SEGMENT_FILE.fullmatch(name)
    if match is None:
        return None
    return int(match[1]), match[2], match[3] or ""


def parse_partition_directory(name: str) -> tuple[str, int] | None:
    """(topic, partition) of `topic-partition`; None for any other name, deleted ones included."""
    topic, dash, partition = name.rpartition("-")
    if not dash or not topic or not partition.isascii() or not partition.isdigit():
        return None
    return topic, int(partition)


class StoredPartition(NamedTuple):
    """A partition's directory as it was found. A future log was on its way here."""

    topic: str
    partition: int
    topic_id: uuid.UUID | None
    path: Path
    is_future: bool = False


def future_directory(topic: str, partition: int) -> str:
    """A name for a log on its way into a data directory: `topic-partition.<unique>-future`."""
    return f"{topic}-{partition}.{uuid.uuid4().hex}{FUTURE_DIRECTORY_SUFFIX}"


def deleted_directory(name: str) -> str:
    """A name for the directory of a log on its way out: `topic-partition.<unique>-delete`.

    As in Kafka, a long topic name is cut so that the file system takes the name.
    """
    return _marked_directory(name, DELETED_DIRECTORY_SUFFIX)


def is_deleted_directory(name: str) -> bool:
    """True for `topic-partition.<unique>-delete` alone: another name is somebody else's."""
    return _DELETED_DIRECTORY.fullmatch(name) is not None


def stray_directory(name: str) -> str:
    """A name for the directory of a log without a topic: `topic-partition.<unique>-stray`."""
    return _marked_directory(name, STRAY_DIRECTORY_SUFFIX)


def _marked_directory(name: str, suffix: str) -> str:
    topic, _, partition = name.rpartition("-")
    end = f"-{partition}.{uuid.uuid4().hex}{suffix}"
    return topic[: LONGEST_NAME - len(end)] + end


def without_future(name: str) -> str:
    """`topic-partition` of a future log's directory; any other name as it is."""
    match = _FUTURE_DIRECTORY.fullmatch(name)
    return name if match is None else match[1]


class Files:
    """The operating system's file operations, as they are. All raise OSError.

    `waits_for_disk` tells whether `sync` and its like take their time, `counts_writes` whether it
    matters how many writes there are.
    """

    waits_for_disk = True
    counts_writes = False

    def open(self, path: Path, flags: int) -> int:
        return os.open(path, flags | os.O_CLOEXEC, 0o644)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def pread(self, descriptor: int, size: int, position: int) -> bytes:
        """Read up to `size` bytes. Raises NotCached inside of `cached_only` (page_cache.py)."""
        return page_cache.pread(descriptor, size, position)

    # Writes data at a position; returns the bytes written, perhaps not all. It is the system call
    # itself: a function around it would cost a twentieth of an append.
    pwrite: Callable[[int, bytes | memoryview | bytearray, int], int] = staticmethod(os.pwrite)

    def sync(self, descriptor: int) -> None:
        """Flush the data, and the file's size with it, to the disk."""
        os.fdatasync(descriptor)

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def size(self, path: Path) -> int:
        return os.stat(path).st_size

    def modified_ms(self, path: Path) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def set_modified_ms(self, path: Path, modified_ms: int) -> None:
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

    def exists(self, path: Path) -> bool:
        return os.path.exists(path)

    def is_directory(self, path: Path) -> bool:
        return os.path.isdir(path)

    def names(self, directory: Path) -> list[str]:
        return os.listdir(directory)

    def rename(self, source: Path, target: Path) -> None:
        os.replace(source, target)

    def unlink(self, path: Path) -> None:
        """Remove a file; one that is not there is no error."""
        try:
            os.unlink(path)
        except FileNotFoundError:
            return

    def make_directory(self, path: Path) -> None:
        os.makedirs(path, exist_ok=True)

    def remove_directory(self, path: Path) -> None:
        os.rmdir(path)

    def sync_directory(self, path: Path) -> None:
        """Flush the names made, changed and removed in `path` to the disk."""
        descriptor = self.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            self.close(descriptor)

    def sync_everything(self) -> None:
        """Flush all files of the machine to the disk."""
        os.sync()

    def sync_file(self, path: Path) -> None:
        """Flush a closed file's data to the disk; a file that is not there is no error."""
        try:
            descriptor = self.open(path, os.O_RDWR)
        except FileNotFoundError:
            return
        try:
            self.sync(descriptor)
        finally:
            self.close(descriptor)

    def read(self, path: Path) -> bytes:
        descriptor = self.open(path, os.O_RDONLY)
        try:
            chunks: list[bytes] = []
            position = 0
            while chunk := self.pread(descriptor, 1 << 20, position):
                chunks.append(chunk)
                position += len(chunk)
            return b"".join(chunks)
        finally:
            self.close(descriptor)

    def write(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        """Write a whole file, in place of any old one."""
        descriptor = self.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            write_all(self, descriptor, data, 0)
            if sync:
                self.sync(descriptor)
        finally:
            self.close(descriptor)

    def write_atomically(self, path: Path, data: bytes, *, sync: bool = True) -> None:
        """Write a whole file so that at any moment the old or the new one is there."""
        temporary = path.with_name(path.name + ".tmp")
        self.write(temporary, data, sync=sync)
        self.rename(temporary, path)
        if sync:
            self.sync_directory(path.parent)


class UnsyncedFiles(Files):
    """Files without fsync: written bytes survive the process, not a loss of power.

    For data that is thrown away in the end.
    """

    waits_for_disk = False

    def sync(self, descriptor: int) -> None:
        """Do nothing: the operating system has the data, which is enough here."""

    def sync_directory(self, path: Path) -> None:
        """Do nothing, for the same reason."""

    def sync_everything(self) -> None:
        """Do nothing, for the same reason."""

    def sync_file(self, path: Path) -> None:
        """Do nothing, for the same reason."""


FILES = Files()


def write_all(
    files: Files, descriptor: int, data: bytes | memoryview | bytearray, position: int
) -> None:
    """Write `data` at `position`, however many calls it takes."""
    rest = memoryview(data)
    while rest:
        written = files.pwrite(descriptor, rest, position)
        position += written
        rest = rest[written:]
