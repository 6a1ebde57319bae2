"""Spark, as the pipelines use it: one Python task per part of the work, results in the parts'
order.

A task reads and writes files itself, by Arrow and numpy; through the JVM go only its description
and its result. The parts are done in waves, so that progress is shown, and kept, while it goes on.
On a cluster, every path must mean the same files on every machine.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import pyarrow as pa

from kafkalite.spark.errors import SparkSourceError
from kafkalite.spark.pipelines.errors import PipelineError, told

Part = TypeVar("Part")
Result = TypeVar("Result")

# In each wave every core has something to do when another is slower.
_PARTS_PER_CORE: Final = 2
_OF_TRACE: Final = re.compile(r"at [\w.$/<>]+\(|\.\.\. \d+ more")


@contextmanager
def spark_session(spark: Any = None, master: str | None = None) -> Iterator[Any]:
    """The session given, or the one that is active, or one of our own, stopped in the end.

    Raises PipelineError when Spark cannot start.
    """
    from pyspark.sql import SparkSession

    session = spark if spark is not None else SparkSession.getActiveSession()
    if session is not None:
        yield session
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.master(master or "local[*]")
        .appName("kafkalite pipeline")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
    )
    if master is None:  # on this machine, whatever it thinks its name is
        builder = builder.config("spark.driver.host", "127.0.0.1")
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise PipelineError(
            "Spark did not start (it needs Java 17 or newer, on the PATH or in JAVA_HOME): "
            f"{_gist(error)}"
        ) from error
    try:
        yield session
    finally:
        session.stop()


def run_parts(
    spark: Any, function: Callable[[Part], Result], parts: Sequence[Part]
) -> Iterator[Result]:
    """`function(part)` for each part, on Spark's executors; results in the parts' order.

    Both must be picklable. Raises PipelineError as `function` raised it, and when a task fails.
    """
    wave = _PARTS_PER_CORE * _cores(spark)
    for start in range(0, len(parts), wave):
        yield from _run_wave(spark, function, parts[start : start + wave])


def _run_wave(
    spark: Any, function: Callable[[Part], Result], parts: Sequence[Part]
) -> Iterator[Result]:
    def run(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            results = [_outcome(function, parts[i]) for i in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_pydict(
                {"id": batch.column(0), "result": pa.array(results, pa.binary())}
            )

    try:
        numbers = spark.range(0, len(parts), 1, len(parts))
        rows = numbers.mapInArrow(run, "id long, result binary").collect()
    except Exception as error:
        raise PipelineError(f"a Spark task failed: {_gist(error)}") from error
    for row in sorted(rows, key=lambda row: row["id"]):
        outcome = pickle.loads(row["result"])
        if isinstance(outcome, PipelineError):
            raise outcome
        yield outcome


def _outcome(function: Callable[[Part], Result], part: Part) -> bytes:
    try:
        return pickle.dumps(function(part))
    except (PipelineError, SparkSourceError) as error:
        # A task that Spark runs again would fail again, and the sentence would drown in traces.
        return pickle.dumps(PipelineError(str(error)))
    except OSError as error:  # such as a full disk
        return pickle.dumps(PipelineError(told(error)))


def _cores(spark: Any) -> int:
    try:
        return max(1, int(spark.sparkContext.defaultParallelism))
    except Exception:  # noqa: BLE001 - Spark Connect has no context, and does not say
        return os.cpu_count() or 1


def _gist(error: BaseException) -> str:
    """The last line that is not of a Java trace: the cause behind all others."""
    text, _, _ = str(error).partition("JVM stacktrace:")
    lines = [line.strip() for line in text.splitlines()]
    said = [line for line in lines if line and not _OF_TRACE.match(line)]
    return said[-1].removeprefix("Caused by: ").lstrip(": ") if said else type(error).__name__
