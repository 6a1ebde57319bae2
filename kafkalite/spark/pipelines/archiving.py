"""archive: topics to Parquet, by topic and date; what is archived already is not read again."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from crc32c import crc32c
from tqdm import tqdm

from kafkalite.spark import digest
from kafkalite.spark.data_directory import Isolation
from kafkalite.spark.digest import milliseconds
from kafkalite.spark.errors import OffsetOutOfRange
from kafkalite.spark.local_path import local_path
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.spark.pipelines.jobs import run_parts, spark_session
from kafkalite.spark.pipelines.manifest import (
    ArchivedFile,
    ArchivedRange,
    ArchivedTopic,
    Manifest,
    file_path,
    sync_directory,
    topic_directory,
)
from kafkalite.spark.pipelines.stored import DataDirs, Reader, check_is_apart, reader
from kafkalite.spark.pipelines.summary import Summary

_LOCK: Final = "_lock"
_STAGING: Final = "_staging"
# A range, and so a file, has no more offsets, and where records are large, not many more bytes: a
# task holds it in memory, and so does one that replays it.
_RANGE_OFFSETS: Final = 250_000
_RANGE_BYTES: Final = 256 << 20
_DAY_MS: Final = 86_400_000
_FILE_NAME: Final = re.compile(r"(\d{5})-(\d{20})\.parquet")
# The topic is told by the directory.
_COLUMNS: Final = (
    "key",
    "value",
    "partition",
    "offset",
    "timestamp",
    "timestampType",
    "headers",
)


@dataclass(frozen=True, slots=True)
class _Task:
    """A task for an executor: a range of a partition, and the place for its files."""

    source: Reader
    root: Path
    topic: str
    partition: int
    start: int
    end: int
    isolation: Isolation
    allow_loss: bool

    def run(self) -> tuple[str, list[ArchivedRange]]:
        """The folder of the files, and the range; several, one behind the other, where its records
        are large. Each try has a folder of its own: Spark may try a task twice at once."""
        staging = f"{_STAGING}/{uuid.uuid4().hex}"
        done: list[ArchivedRange] = []
        start = self.start
        while start < self.end:
            try:
                for each in self._ranges(staging, start):
                    done.append(each)
                    start = each.end
            except OffsetOutOfRange:  # retention was faster
                if not self.allow_loss:
                    raise
                first, _ = self.source.bounds(self.topic, self.partition, self.isolation)
                if first <= start:
                    raise
                start = min(first, self.end)
        return staging, done

    def _ranges(self, staging: str, start: int) -> Iterator[ArchivedRange]:
        size = 0
        batches: list[Any] = []
        for batch in self.source.read(self.topic, self.partition, start, self.end, self.isolation):
            batches.append(batch)
            size += batch.nbytes
            if size >= _RANGE_BYTES:
                end = batch.column("offset")[-1].as_py() + 1
                yield self._archive(staging, start, end, batches)
                start, size, batches = end, 0, []
        if start < self.end:
            yield self._archive(staging, start, self.end, batches)

    def _archive(self, staging: str, start: int, end: int, batches: list[Any]) -> ArchivedRange:
        if not batches:
            return ArchivedRange(start, end, 0, digest.text(0), ())
        table = pa.Table.from_batches(batches).select(_COLUMNS)
        days = milliseconds(table.column("timestamp")) // _DAY_MS
        files: list[ArchivedFile] = []
        for day in np.unique(days).tolist():
            rows = table if (days == day).all() else table.filter(pa.array(days == day))
            files.append(self._write(staging, rows, start, str(np.datetime64(day, "D"))))
        told = digest.text(digest.digest(table))
        return ArchivedRange(start, end, table.num_rows, told, tuple(files))

    def _write(self, staging: str, rows: Any, start: int, date: str) -> ArchivedFile:
        name = file_path(self.topic, date, self.partition, start)
        path = self.root / staging / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pa.parquet.write_table(rows, path, compression="zstd")
        data = path.read_bytes()
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        offsets = rows.column("offset")
        return ArchivedFile(
            name,
            rows.num_rows,
            offsets[0].as_py(),
            offsets[-1].as_py(),
            len(data),
            f"{crc32c(data):08x}",
        )


def archive(
    archive_dir: str | Path,
    *,
    topics: Sequence[str] = (),
    data_dir: DataDirs | None = None,
    bootstrap: str | None = None,
    isolation: str = "read_committed",
    allow_loss: bool = False,
    spark: Any = None,
    master: str | None = None,
    progress: bool = False,
) -> Summary:
    """Archive what topics have beyond what is archived already.

    An interrupted run is gone on with by the next one; a run with nothing new changes nothing.

    Args:
        topics: all but Kafka's own, if none is named.
        data_dir: kafkalite's or Apache Kafka's, the broker running or not. Several are those of one
            broker, or of the brokers of a cluster.
        bootstrap: or of a running broker.
        isolation: read_committed leaves aborted transactions out, and stops before open ones.
        allow_loss: go on where records were deleted before they were archived.

    Returns all that is archived of these topics, earlier runs' included. Raises PipelineError.
    """
    try:
        level = Isolation(isolation)
    except ValueError:
        raise PipelineError(
            f"isolation {isolation!r} is neither read_committed nor read_uncommitted"
        ) from None
    source = reader(data_dir, bootstrap)
    root = local_path(archive_dir).resolve()
    check_is_apart(root)
    chosen = _choose(source, topics)
    with ExitStack() as stack:
        stack.enter_context(_locked(root))
        manifest = Manifest.load(root, must_exist=False)
        tasks, notes = _plan(source, manifest, chosen, level, allow_loss=allow_loss)
        began, done = time.perf_counter(), 0
        if tasks:
            _remove_left_behind(manifest, chosen)
            session = stack.enter_context(spark_session(spark, master))
            began = time.perf_counter()
            done = _run(session, manifest, tasks, notes, progress=progress)
    archived = [
        each for topic in chosen if topic in manifest.topics for each in manifest.summary(topic)
    ]
    return Summary("archive", archived, time.perf_counter() - began, notes, done)


def _choose(source: Reader, topics: Sequence[str]) -> dict[str, list[int]]:
    """The partitions of each topic asked for."""
    found: dict[str, list[int]] = {}
    for topic, partition in source.partitions():
        if topic in topics or (not topics and not topic.startswith("__")):
            found.setdefault(topic, []).append(partition)
    for topic in topics:
        if topic not in found:
            raise PipelineError(f"there is no topic {topic!r} to archive")
    return found


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """One run at a time: two would remove each other's files."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = (root / _LOCK).open("w")
    except OSError as error:
        raise PipelineError(f"cannot write to {root}: {error.strerror}") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise PipelineError(f"another run archives to {root}") from None
        yield


def _plan(
    source: Reader,
    manifest: Manifest,
    chosen: dict[str, list[int]],
    isolation: Isolation,
    *,
    allow_loss: bool,
) -> tuple[list[_Task], list[str]]:
    """The ranges to archive, and what is to be said about them."""
    tasks: list[_Task] = []
    notes: list[str] = []
    for topic, partitions in chosen.items():
        known = manifest.topics.setdefault(topic, ArchivedTopic(isolation.value))
        if known.isolation != isolation.value:
            raise PipelineError(
                f"topic {topic} was archived as {known.isolation}, and cannot go on as {isolation}"
            )
        for partition in partitions:
            known.partitions.setdefault(partition, [])  # it counts, even if nothing is in it
            archived = known.end(partition)
            start, end = source.bounds(topic, partition, isolation, archived or 0)
            if archived is not None and end < archived:
                raise PipelineError(
                    f"{topic}-{partition} ends at offset {end}, and is archived up to {archived}: "
                    "it is another topic of that name, or it lost records; archive it elsewhere"
                )
            if archived is not None and start > archived:
                lost = _lost(topic, partition, archived, start)
                if not allow_loss:
                    raise PipelineError(f"{lost}; --allow-loss goes on without them")
                notes.append(lost)
            first = max(start, archived or 0)
            tasks += [
                _Task(
                    source,
                    manifest.root,
                    topic,
                    partition,
                    begin,
                    min(begin + _RANGE_OFFSETS, end),
                    isolation,
                    allow_loss,
                )
                for begin in range(first, end, _RANGE_OFFSETS)
            ]
    return tasks, notes


def _remove_left_behind(manifest: Manifest, chosen: dict[str, list[int]]) -> None:
    """Remove files of an interrupted run that are not in the manifest. Only names that we give."""
    shutil.rmtree(manifest.root / _STAGING, ignore_errors=True)
    for topic in chosen:
        named = {file.path for file in manifest.files(topic)}
        for path in (manifest.root / topic_directory(topic)).glob("date=*/*.parquet"):
            if _FILE_NAME.fullmatch(path.name) is None:
                continue
            if str(path.relative_to(manifest.root)) not in named:
                path.unlink()


def _lost(topic: str, partition: int, start: int, end: int) -> str:
    return f"{topic}-{partition}: offsets [{start}, {end}) were deleted unarchived"


def _run(
    spark: Any, manifest: Manifest, tasks: list[_Task], notes: list[str], *, progress: bool
) -> int:
    """Archive the ranges, one after the other; the number of records."""
    rows = 0
    results = run_parts(spark, _Task.run, tasks)
    total = sum(task.end - task.start for task in tasks)
    with tqdm(
        total=total, unit=" offsets", unit_scale=True, desc="archive", disable=not progress
    ) as bar:
        # Results come in the tasks' order, so a partition's ranges are without holes at any moment.
        for task, (staging, ranges) in zip(tasks, results, strict=True):
            reached = task.start
            for done in ranges:
                _into_place(manifest.root, staging, done)
                if done.start > reached:
                    notes.append(_lost(task.topic, task.partition, reached, done.start))
                reached = done.end
            if reached < task.end:
                notes.append(_lost(task.topic, task.partition, reached, task.end))
            topic = manifest.topics[task.topic]
            topic.partitions.setdefault(task.partition, []).extend(ranges)
            manifest.save()
            rows += sum(done.rows for done in ranges)
            bar.update(task.end - task.start)
    shutil.rmtree(manifest.root / _STAGING, ignore_errors=True)
    return rows


def _into_place(root: Path, staging: str, done: ArchivedRange) -> None:
    """Files to where readers look: before the manifest names them, and removed if it never does."""
    for file in done.files:
        target = root / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(root / staging / file.path, target)
        sync_directory(target.parent)
