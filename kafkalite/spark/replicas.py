"""A partition in several data directories: those of one broker, or of the brokers of a cluster.

One replica is read. The first choice is one whose broker runs, then one with the latest leader
epoch, then one that reaches furthest. So the records of an old leader that its followers never got
are passed over, as the cluster has passed over them. Whatever one of the running brokers knows to
be committed may be read; if none runs, whatever any of them knew.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from kafkalite.log.checkpoints import CorruptCheckpoint, read_lines
from kafkalite.log.errors import InconsistentDataDirectory
from kafkalite.log.files import LEADER_EPOCH_CHECKPOINT, Files
from kafkalite.log.meta_properties import read_meta_properties
from kafkalite.spark import data_directory
from kafkalite.spark.data_directory import Bounds, Isolation, is_held, list_partitions
from kafkalite.spark.errors import NotADataDirectory

_NO_EPOCH = -1

Places = dict[tuple[str, int], tuple[Path, ...]]
"""By topic and partition: the data directories that have it, the one to read first."""


def find_replicas(data_dirs: Sequence[Path], only: tuple[str, int] | None = None) -> Places:
    """All partitions of the directories, or one.

    Raises NotADataDirectory: one of them is none, or they belong to several clusters.
    """
    _check_is_one_cluster(data_dirs)
    found: dict[tuple[str, int], list[Path]] = defaultdict(list)
    for data_dir in data_dirs:
        for stored in list_partitions(data_dir, only):
            found[stored.topic, stored.partition].append(data_dir)
    return {
        partition: tuple(paths) if len(paths) == 1 else _in_order(paths, *partition)
        for partition, paths in sorted(found.items())
    }


def _check_is_one_cluster(data_dirs: Sequence[Path]) -> None:
    clusters: dict[str, Path] = {}
    for data_dir in data_dirs if len(data_dirs) > 1 else ():
        try:
            properties = read_meta_properties(data_dir, Files())
        except (InconsistentDataDirectory, OSError):
            continue  # what is wrong with it is told by who reads it
        if properties is not None:
            clusters.setdefault(properties.cluster_id, data_dir)
    if len(clusters) > 1:
        said = ", ".join(f"{path} to {cluster_id}" for cluster_id, path in clusters.items())
        raise NotADataDirectory(f"these directories belong to different clusters: {said}")


def _in_order(data_dirs: list[Path], topic: str, partition: int) -> tuple[Path, ...]:
    def rank(data_dir: Path) -> tuple[bool, int, int]:
        end = data_directory.bounds(data_dir, topic, partition).end_offset
        return is_held(data_dir), _latest_epoch(data_dir, topic, partition), end

    return tuple(sorted(data_dirs, key=rank, reverse=True))


def _latest_epoch(data_dir: Path, topic: str, partition: int) -> int:
    """The last leader epoch in a log; -1 if there is none, or its file is broken."""
    file = data_dir / f"{topic}-{partition}" / LEADER_EPOCH_CHECKPOINT
    try:
        return int(read_lines(Files(), file)[-1][0])
    except (CorruptCheckpoint, IndexError, ValueError):
        return _NO_EPOCH


def bounds(
    data_dirs: Sequence[Path],
    topic: str,
    partition: int,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
    *,
    known_end: int = 0,
) -> Bounds:
    """The offsets of a partition that may be read; `data_dirs` as `find_replicas` has them, and
    `known_end` was committed when they were last asked.

    The replica that is read may hear last what is committed, and the end must not go back with it.
    Raises NotADataDirectory, UnknownTopic, DamagedLog.
    """
    first, *others = data_dirs
    known_ends = [data_directory.high_watermark_of(each, topic, partition) or 0 for each in others]
    if max(known_ends, default=0) > 0:
        topic_id = data_directory.topic_id_of(first, topic, partition)
        runs = is_held(first)
        known_ends = [
            end
            for each, end in zip(others, known_ends, strict=True)
            # A stopped replica may have missed an unclean election among those that run.
            if (not runs or is_held(each))
            and data_directory.topic_id_of(each, topic, partition) == topic_id
        ]
    return data_directory.bounds(
        first, topic, partition, isolation, known_end=max([known_end, *known_ends])
    )
