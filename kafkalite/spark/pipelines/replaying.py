"""replay: an archive back into a topic, at the same offsets or behind what is there, at any
speed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from tqdm import tqdm

from kafkalite.spark import digest
from kafkalite.spark.digest import milliseconds
from kafkalite.spark.local_path import local_path
from kafkalite.spark.pipelines.delivery import Delivery
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.spark.pipelines.jobs import run_parts, spark_session
from kafkalite.spark.pipelines.manifest import ArchivedRange, ArchivedTopic, Manifest
from kafkalite.spark.pipelines.pacing import Pace, pace_windows
from kafkalite.spark.pipelines.pieces import (
    Piece,
    PieceWriter,
    codec_named,
    temporary_directory,
)
from kafkalite.spark.pipelines.progress_file import ProgressFile
from kafkalite.spark.pipelines.sinks import DataDirectorySink, open_sink
from kafkalite.spark.pipelines.stored import reader
from kafkalite.spark.pipelines.summary import PartitionSummary, Summary
from kafkalite.wire.compression import Compression
from kafkalite.wire.record_batch import TimestampType

_NOT_EMPTY: Final = (
    "--append writes behind what it has, and over the network --resume goes on where an "
    "interrupted run stopped"
)


@dataclass(frozen=True, slots=True)
class _Task:
    """A task for an executor: a range of the archive, and how to encode it."""

    root: Path
    partition: int
    archived: ArchivedRange
    same_offsets: bool
    compression: Compression
    directory: Path
    speed: float | None

    def run(self) -> Piece | None:
        """The range as batches; None for one without records. Raises PipelineError."""
        if not self.archived.rows:
            return None
        table = read_range(self.root, self.partition, self.archived)
        writer = PieceWriter(self.directory, self.compression)
        if self.same_offsets:
            self._in_place(writer, table)
        else:
            rows = table.drop_columns(["offset"])
            for start, end in pace_windows(milliseconds(rows.column("timestamp")), self.speed):
                writer.add(self.partition, rows.slice(start, end - start))
        (piece,) = writer.pieces()
        return piece

    def _in_place(self, writer: PieceWriter, table: Any) -> None:
        """Offsets and the kind of timestamps as they were; the last batch reaches to the range's
        end."""
        kinds = table.column("timestampType").to_numpy()
        offsets = table.column("offset").to_numpy()
        starts = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist()]
        ends = [*starts[1:], len(kinds)]
        for start, end in zip(starts, ends, strict=True):
            writer.add(
                self.partition,
                table.slice(start, end - start),
                timestamp_type=TimestampType(int(kinds[start])),
                end_offset=self.archived.end if end == len(kinds) else int(offsets[end]),
            )


def read_range(root: Path, partition: int, archived: ArchivedRange) -> Any:
    """The rows of a range, in order of offset. Raises PipelineError when they are not what was
    written."""
    tables: list[Any] = []
    for file in archived.files:
        try:
            tables.append(pa.parquet.ParquetFile(root / file.path).read())
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise PipelineError(f"{root / file.path} cannot be read: {reason}") from error
    table = pa.concat_tables(tables)
    if len(tables) > 1:
        offsets = table.column("offset").to_numpy()
        table = table.take(np.argsort(offsets, kind="stable"))
    found = digest.text(digest.digest(table))
    if table.num_rows != archived.rows or found != archived.digest:
        raise PipelineError(
            f"the files of partition {partition}, offsets [{archived.start}, {archived.end}), in "
            f"{root} hold {table.num_rows} records with digest {found}; the manifest says "
            f"{archived.rows} with {archived.digest}"
        )
    return table


def replay(
    archive_dir: str | Path,
    *,
    topic: str,
    into: str | None = None,
    data_dir: str | Path | None = None,
    bootstrap: str | None = None,
    append: bool = False,
    resume: bool = False,
    speed: float | None = None,
    compression: str = "none",
    configs: Mapping[str, str] | None = None,
    spark: Any = None,
    master: str | None = None,
    progress: bool = False,
) -> Summary:
    """Write an archived topic into a topic.

    Without `append` every record gets its own offset, timestamp and headers back, byte for byte:
    into a topic that is new or empty. In a data directory, offsets that had no record stay empty,
    and the log begins and ends where it did. Over the network that takes an archive that begins at
    offset 0 and has no holes, since a broker numbers what it is sent; and timestamps that a broker
    had set become the producer's.

    With `append` the records go behind what the topic has. An interrupted run is gone on with by
    the next (a file in the archive says where it began), as long as no other producer wrote to the
    topic.

    Args:
        topic: the archived one; `into`: its name now, if another.
        resume: with `bootstrap`, and without `append`: go on where an interrupted run stopped. What
            is in the topic must be the beginning of the archive.
        speed: with `append` and `bootstrap`: 1 sends each record as long after the first as its
            timestamp says, 10 in a tenth of the time; None: at once.

    Raises PipelineError.
    """
    root = local_path(archive_dir).resolve()
    manifest = Manifest.load(root)
    archived = _archived(manifest, topic)
    _check_flags(append=append, resume=resume, speed=speed, bootstrap=bootstrap)
    _check_files(manifest, topic, archived, is_numbered=not append and bootstrap is not None)
    codec = codec_named(compression)
    target = into or topic
    count = max(archived.partitions) + 1
    starts = [0] * count if append else _starts(archived, count)
    with ExitStack() as stack:
        to = open_sink(data_dir, bootstrap, target, count, configs=configs, start_offsets=starts)
        sink = stack.enter_context(to)
        state = ProgressFile(root, topic, target, bootstrap or local_path(data_dir or "").resolve())
        firsts = state.begin([sink.end_offset(i) for i in range(count)]) if append else starts
        delivery = Delivery(sink, target, firsts, reader(data_dir, bootstrap))
        if delivery.resumes and not append and not resume:
            raise PipelineError(f"topic {target} is not empty; {_NOT_EMPTY}")
        session = stack.enter_context(spark_session(spark, master))
        began = time.perf_counter()
        directory = stack.enter_context(temporary_directory("replay", data_dir))
        tasks = _tasks(root, archived, codec, directory, append=append, speed=speed)
        rows = sum(task.archived.rows for task in tasks)
        bar = stack.enter_context(
            tqdm(total=rows, unit=" rows", unit_scale=True, desc="replay", disable=not progress)
        )
        pieces = run_parts(session, _Task.run, tasks)
        if isinstance(sink, DataDirectorySink) and not append:
            done = _put_in_place(sink, target, tasks, pieces, bar)
        else:
            done = _deliver(delivery, pieces, bar, speed)
    if append:  # all is on the disk; a run that is killed before is gone on with
        state.end()
    return Summary("replay", done, time.perf_counter() - began)


def _archived(manifest: Manifest, topic: str) -> ArchivedTopic:
    """Raises PipelineError."""
    archived = manifest.topics.get(topic)
    if archived is None or not any(archived.partitions.values()):
        known = ", ".join(sorted(manifest.topics)) or "none"
        raise PipelineError(f"{manifest.root} has no topic {topic!r}; it has {known}")
    return archived


def _deliver(
    delivery: Delivery, pieces: Iterator[Piece | None], bar: Any, speed: float | None
) -> list[PartitionSummary]:
    """Every record behind what is there, unless an interrupted run has delivered it; at its pace
    if there is one."""
    if speed is not None:
        Pace(speed, bar).deliver(delivery, [piece for piece in pieces if piece is not None])
    else:
        for piece in pieces:
            if piece is not None:
                delivery.deliver(piece)
                piece.remove()
                bar.update(piece.rows)
    delivery.finish()
    return delivery.summaries()


def _starts(archived: ArchivedTopic, count: int) -> list[int]:
    """The offset that each partition begins with."""
    found = (archived.partitions.get(partition) for partition in range(count))
    return [ranges[0].start if ranges else 0 for ranges in found]


def _check_flags(*, append: bool, resume: bool, speed: float | None, bootstrap: str | None) -> None:
    """Raises PipelineError."""
    if resume and (append or bootstrap is None):
        raise PipelineError(
            "--resume is for --bootstrap without --append: an appending run goes on by itself, and "
            "in a data directory a topic appears whole or not at all"
        )
    if speed is not None and (not append or bootstrap is None):
        raise PipelineError("a speed needs --append and --bootstrap: a broker that receives")
    if speed is not None and not speed > 0:
        raise PipelineError(f"a speed of {speed}: it must be above 0")


def _check_files(
    manifest: Manifest, topic: str, archived: ArchivedTopic, *, is_numbered: bool
) -> None:
    """Raises PipelineError: a file is not there, or not what it was; or a broker would number the
    records otherwise."""
    for file in manifest.files(topic):
        path = manifest.root / file.path
        try:
            size = path.stat().st_size
        except OSError as error:
            raise PipelineError(f"{path} cannot be read: {error.strerror}") from error
        if size != file.size_bytes:
            raise PipelineError(f"{path} has {size} bytes, and had {file.size_bytes}")
    if not is_numbered:
        return
    for partition, ranges in archived.partitions.items():
        end, rows = archived.end(partition) or 0, sum(each.rows for each in ranges)
        if rows != end or (ranges and ranges[0].start):
            raise PipelineError(
                f"{topic}-{partition} has {rows} records at offsets up to {end}, and a broker "
                "numbers what it is sent without holes: replay into a data directory (--data-dir), "
                "or --append"
            )


def _tasks(
    root: Path,
    archived: ArchivedTopic,
    codec: Compression,
    directory: Path,
    *,
    append: bool,
    speed: float | None,
) -> list[_Task]:
    ranges = [
        (partition, each)
        for partition, of_partition in sorted(archived.partitions.items())
        for each in of_partition
    ]
    return [
        _Task(root, partition, each, not append, codec, directory, speed)
        for partition, each in ranges
    ]


def _put_in_place(
    sink: DataDirectorySink, topic: str, tasks: list[_Task], pieces: Any, bar: Any
) -> list[PartitionSummary]:
    """Every record at its own offset, whatever holes are between them."""
    rows: dict[int, int] = {}
    digests: dict[int, int] = {}
    for task, piece in zip(tasks, pieces, strict=True):
        partition, archived = task.partition, task.archived
        firsts = [file.first_offset for file in archived.files]
        sink.fill(partition, min(firsts, default=archived.end))
        if piece is not None:
            for batch in piece.batches():
                sink.append_in_place(partition, bytearray(batch.buffer))
            piece.remove()
        sink.fill(partition, archived.end)
        rows[partition] = rows.get(partition, 0) + archived.rows
        digests[partition] = digest.add(digests.get(partition, 0), int(archived.digest, 16))
        bar.update(archived.rows)
    starts = {task.partition: task.archived.start for task in reversed(tasks)}
    ends = {task.partition: task.archived.end for task in tasks}
    return [
        PartitionSummary.of(
            topic,
            partition,
            rows[partition],
            starts[partition],
            ends[partition],
            digests[partition],
        )
        for partition in sorted(rows)
    ]
