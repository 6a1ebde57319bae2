"""An archive's manifest: which offsets of which partitions are archived, in which files, with what
in them.

`_manifest.json` lies at the archive's root and is replaced whole (written, synced, renamed). What
it does not name is not part of the archive. Layout, as Spark and Hive discover it:

    archive/_manifest.json
    archive/topic=flights/date=2013-01-01/00003-00000000000000250000.parquet
                                          partition, first offset of its range
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from kafkalite.spark import digest
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.spark.pipelines.summary import PartitionSummary

MANIFEST: Final = "_manifest.json"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """A Parquet file: records of one partition, of one range and of one day (UTC)."""

    path: str
    """Relative to the archive's root."""
    rows: int
    first_offset: int
    last_offset: int
    size_bytes: int
    crc32c: str
    """CRC-32C of the file's bytes, 8 hex digits."""


@dataclass(frozen=True, slots=True)
class ArchivedRange:
    """Offsets [start, end) of a partition; what of them is in no file was no record (any more)."""

    start: int
    end: int
    rows: int
    digest: str
    """Digest of the records with their offsets, 16 hex digits (kafkalite.spark.digest)."""
    files: tuple[ArchivedFile, ...]


def _no_partitions() -> dict[int, list[ArchivedRange]]:
    return {}


@dataclass(slots=True)
class ArchivedTopic:
    """A topic's ranges by partition, ascending; none where nothing was. `isolation` is that of
    every run."""

    isolation: str
    partitions: dict[int, list[ArchivedRange]] = field(default_factory=_no_partitions)

    def end(self, partition: int) -> int | None:
        """Up to where a partition is archived; None: it is not."""
        ranges = self.partitions.get(partition)
        return ranges[-1].end if ranges else None


@dataclass(slots=True)
class Manifest:
    """The contents of an archive."""

    root: Path
    topics: dict[str, ArchivedTopic] = field(default_factory=dict[str, ArchivedTopic])

    @classmethod
    def load(cls, root: Path, *, must_exist: bool = True) -> Manifest:
        """Raises PipelineError: there is none, or it cannot be understood."""
        path = root / MANIFEST
        try:
            stored = json.loads(path.read_text())
            if stored["version"] != _VERSION:
                raise PipelineError(f"{path} is of version {stored['version']}, not {_VERSION}")
            return cls(root, {name: _topic(value) for name, value in stored["topics"].items()})
        except FileNotFoundError:
            if must_exist:
                raise PipelineError(f"{root} is no archive: there is no {MANIFEST} in it") from None
            return cls(root)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, PipelineError):
                raise
            raise PipelineError(f"{path} cannot be read: {error}") from error

    def save(self) -> None:
        """Replace the file, atomically. Raises OSError."""
        topics = {
            name: {
                "isolation": topic.isolation,
                "partitions": {
                    str(number): [asdict(each) for each in ranges]
                    for number, ranges in sorted(topic.partitions.items())
                },
            }
            for name, topic in sorted(self.topics.items())
        }
        path = self.root / MANIFEST
        temporary = path.with_name(f"{MANIFEST}.new")
        with temporary.open("w") as file:
            json.dump({"version": _VERSION, "topics": topics}, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_directory(self.root)

    def files(self, topic: str) -> Iterator[ArchivedFile]:
        """Every file of a topic."""
        for ranges in self.topics[topic].partitions.values():
            for each in ranges:
                yield from each.files

    def summary(self, topic: str) -> list[PartitionSummary]:
        """The archived ranges of each partition."""
        return [
            PartitionSummary.of(
                topic,
                number,
                sum(each.rows for each in ranges),
                ranges[0].start,
                ranges[-1].end,
                digest.add(*(int(each.digest, 16) for each in ranges)),
            )
            for number, ranges in sorted(self.topics[topic].partitions.items())
            if ranges
        ]


def topic_directory(topic: str) -> str:
    """The directory of a topic's files, in the archive."""
    return f"topic={quote(topic, safe='')}"


def file_path(topic: str, date: str, partition: int, start: int) -> str:
    """The place in the archive of a range's records of one day."""
    return f"{topic_directory(topic)}/date={date}/{partition:05d}-{start:020d}.parquet"


def sync_directory(path: Path) -> None:
    """Names onto the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _topic(stored: Any) -> ArchivedTopic:
    return ArchivedTopic(
        stored["isolation"],
        {
            int(number): [
                ArchivedRange(
                    **{**each, "files": tuple(ArchivedFile(**file) for file in each["files"])}
                )
                for each in ranges
            ]
            for number, ranges in stored["partitions"].items()
        },
    )
