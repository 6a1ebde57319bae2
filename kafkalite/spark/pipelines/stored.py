"""Records of topics, read alike from a data directory and over the network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from kafkalite.log.files import META_PROPERTIES
from kafkalite.spark import digest
from kafkalite.spark.data_directory import Bounds, Isolation
from kafkalite.spark.local_path import local_path
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.spark.replicas import bounds, find_replicas
from kafkalite.spark.segment_reader import read_partition


class Reader(Protocol):
    """Reads topics. Can be pickled, so that executors read for themselves."""

    def partitions(self) -> list[tuple[str, int]]:
        """Every (topic, partition) there is, sorted."""
        ...

    def bounds(
        self, topic: str, partition: int, isolation: Isolation, known_end: int = 0
    ) -> Bounds:
        """The offsets that may be read; up to `known_end` they were when last asked."""
        ...

    def read(
        self, topic: str, partition: int, start: int, end: int, isolation: Isolation
    ) -> Iterator[Any]:
        """Record batches of the rows in [start, end), headers included."""
        ...


@dataclass(frozen=True, slots=True)
class DirectoryReader:
    """Segment files, kafkalite's or Apache Kafka's: of one data directory, or of several that
    belong to one broker or one cluster."""

    data_dirs: tuple[Path, ...]

    def partitions(self) -> list[tuple[str, int]]:
        return list(find_replicas(self.data_dirs))

    def bounds(
        self, topic: str, partition: int, isolation: Isolation, known_end: int = 0
    ) -> Bounds:
        holding = self._holding(topic, partition)
        return bounds(holding, topic, partition, isolation, known_end=known_end)

    def read(
        self, topic: str, partition: int, start: int, end: int, isolation: Isolation
    ) -> Iterator[Any]:
        return read_partition(
            *(self._holding(topic, partition)[0], topic, partition, start, end),
            isolation=isolation,
            include_headers=True,
        )

    def _holding(self, topic: str, partition: int) -> tuple[Path, ...]:
        """The directories that have the partition; the only one, if there is no choice."""
        if len(self.data_dirs) == 1:
            return self.data_dirs
        return find_replicas(self.data_dirs, (topic, partition)).get(
            (topic, partition), self.data_dirs
        )


DataDirs = str | Path | Sequence[str | Path]
"""A data directory, or several of one broker or one cluster."""


def as_paths(data_dir: DataDirs) -> tuple[Path, ...]:
    """Each of the directories once."""
    several = [data_dir] if isinstance(data_dir, (str, Path)) else data_dir
    return tuple(dict.fromkeys(local_path(each).resolve() for each in several))


def check_is_apart(path: Path) -> None:
    """Raises PipelineError for a folder to be made in a data directory: a broker that finds
    anything but logs there does not start."""
    for each in (path, *path.parents):
        if (each / META_PROPERTIES).exists():
            raise PipelineError(f"{path} is in {each}, a broker's data directory: name another")


def reader(data_dir: DataDirs | None, bootstrap: str | None) -> Reader:
    """The reader of the one that is given. Raises PipelineError unless it is exactly one."""
    if (data_dir is None) == (bootstrap is None):
        raise PipelineError("either a data directory is named, or a bootstrap address")
    if data_dir is not None:
        return DirectoryReader(as_paths(data_dir))
    from kafkalite.spark.pipelines.network import NetworkReader

    assert bootstrap is not None
    return NetworkReader(bootstrap)


def existing_hashes(
    source: Reader, topic: str, starts: list[int], ends: list[int]
) -> Callable[[int, int], Any]:
    """`take(partition, count)`: content hashes of the next records of a partition's [start,
    end)."""
    takers = [
        _taker(
            digest.content_hashes(batch)
            for batch in source.read(topic, partition, start, end, Isolation.READ_UNCOMMITTED)
        )
        for partition, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]
    return lambda partition, count: takers[partition](count)


def _taker(arrays: Iterator[Any]) -> Callable[[int], Any]:
    """From arrays of any length: a function that takes the next `count` of their elements."""
    rest = np.zeros(0, np.uint64)

    def take(count: int) -> Any:
        nonlocal rest
        parts, there = [rest], len(rest)
        while there < count:
            more = next(arrays, None)
            if more is None:
                break
            parts.append(more)
            there += len(more)
        rest = np.concatenate(parts)
        taken, rest = rest[:count], rest[count:]
        return taken

    return take
