"""seed: files into a topic, over the network or as segment files before the broker starts."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from kafkalite.requests.topic_names import INTERNAL_TOPICS
from kafkalite.spark.decode import MAX_TIMESTAMP_MS
from kafkalite.spark.pipelines.columns import Columns
from kafkalite.spark.pipelines.delivery import Delivery
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.spark.pipelines.input_files import (
    FilePart,
    GeneratedPart,
    find_files,
    generated_parts,
    split,
)
from kafkalite.spark.pipelines.jobs import run_parts, spark_session
from kafkalite.spark.pipelines.pieces import (
    Piece,
    PieceWriter,
    codec_named,
    temporary_directory,
)
from kafkalite.spark.pipelines.sinks import open_sink
from kafkalite.spark.pipelines.stored import reader
from kafkalite.spark.pipelines.summary import Summary
from kafkalite.wire.compression import Compression

Part = FilePart | GeneratedPart


@dataclass(frozen=True, slots=True)
class _Task:
    """A task for an executor: a part of the input, and what to make of it."""

    number: int
    part: Part
    columns: Columns
    partition_count: int
    compression: Compression
    directory: Path

    def run(self) -> list[Piece]:
        writer = PieceWriter(self.directory, self.compression)
        # Rows without a key take turns; that each part begins with another partition is fair.
        row = self.number
        for table in self.part.tables():
            records, partitions = self.columns.records(table, self.partition_count, row)
            writer.add_all(records, partitions)
            row += table.num_rows
        return writer.pieces()


def seed(
    inputs: Sequence[str | Path] = (),
    *,
    topic: str,
    data_dir: str | Path | None = None,
    bootstrap: str | None = None,
    partitions: int = 1,
    columns: Columns | None = None,
    format: str | None = None,
    generate: int = 0,
    seed: int = 0,
    value_bytes: int = 100,
    compression: str = "none",
    configs: Mapping[str, str] | None = None,
    resume: bool = False,
    spark: Any = None,
    master: str | None = None,
    progress: bool = False,
) -> Summary:
    """Fill a topic, which is made if it is not there, from files or with generated records.

    The same input gives the same records in the same order, whatever the number of executors.

    Args:
        inputs: Parquet, CSV or JSON (one object per line) files, or directories of them.
        data_dir: of a kafkalite that does not run: written as segment files, the topic appears
        whole. bootstrap: or of any running Kafka: sent by an idempotent producer. columns: which
        columns become what; by default the value is the whole row as JSON. generate: so many
        records made from `seed`, instead of files. compression: none, gzip, snappy, lz4 or zstd.
        configs: of a topic that is made; it keeps its records for ever unless these say otherwise.
        resume: go on where an interrupted run stopped. What is in the topic must be the beginning
        of
            what is to be written.

    Raises PipelineError: nothing is there that was not there before, but for what a resumed run or
    a broken connection has sent.
    """
    codec = codec_named(compression)
    if not 1 <= partitions <= 10_000:
        raise PipelineError(f"{partitions} partitions: there may be 1 to 10000")
    if topic in INTERNAL_TOPICS:
        raise PipelineError(f"topic {topic} is the broker's own: no other may write to it")
    columns = columns or Columns(timestamp_ms=time.time_ns() // 1_000_000)
    parts, total = _plan(inputs, format, columns, generate, seed, value_bytes)
    with ExitStack() as stack:
        sink = stack.enter_context(
            open_sink(data_dir, bootstrap, topic, partitions, configs=configs)
        )
        delivery = Delivery(sink, topic, [0] * partitions, reader(data_dir, bootstrap))
        if delivery.resumes and not resume:
            raise PipelineError(
                f"topic {topic} is not empty; --resume goes on where an interrupted run stopped"
            )
        session = stack.enter_context(spark_session(spark, master))
        began = time.perf_counter()
        directory = stack.enter_context(temporary_directory("seed", data_dir))
        tasks = [
            _Task(i, part, columns, partitions, codec, directory) for i, part in enumerate(parts)
        ]
        bar = stack.enter_context(
            tqdm(total=total, unit=" rows", unit_scale=True, desc="seed", disable=not progress)
        )
        for pieces in run_parts(session, _Task.run, tasks):
            for piece in pieces:
                delivery.deliver(piece)
                piece.remove()
                bar.update(piece.rows)
        delivery.finish()
    return Summary("seed", delivery.summaries(), time.perf_counter() - began)


def _plan(
    inputs: Sequence[str | Path],
    format: str | None,
    columns: Columns,
    generate: int,
    seed: int,
    value_bytes: int,
) -> tuple[list[Part], int | None]:
    """The parts of the input, and how many rows it has, if that is known."""
    if generate < 0 or value_bytes < 0:
        raise PipelineError(f"{min(generate, value_bytes)} is no number of records or bytes")
    if abs(columns.timestamp_ms) > MAX_TIMESTAMP_MS:
        raise PipelineError(
            f"{columns.timestamp_ms} is too far: milliseconds since 1970 are wanted"
        )
    if bool(inputs) == bool(generate):
        raise PipelineError("either files are named, or a number of records to generate")
    parts: list[Part] = []
    if generate:
        parts += generated_parts(generate, seed, value_bytes, columns.timestamp_ms)
        return parts, generate
    total: int | None = 0
    for path, kind in find_files(inputs, format):
        schema, of_file, rows = split(path, kind)
        columns.check(schema, path)
        parts += of_file
        total = None if rows is None or total is None else total + rows
    return parts, total
