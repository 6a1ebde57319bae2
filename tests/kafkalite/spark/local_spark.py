"""The part of a SparkSession that the pipelines use, in this process: their logic without a JVM."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa


class LocalSpark:
    """`range(...).mapInArrow(...).collect()`, a task for each row, the last one first."""

    def range(self, start: int, end: int, step: int, partitions: int) -> LocalFrame:
        assert (step, partitions) == (1, end - start)
        return LocalFrame(end - start)


class LocalFrame:
    def __init__(self, count: int, function: Callable[..., Iterator[Any]] | None = None) -> None:
        self._count = count
        self._function = function

    def mapInArrow(self, function: Callable[..., Iterator[Any]], schema: str) -> LocalFrame:
        return LocalFrame(self._count, function)

    def collect(self) -> list[dict[str, Any]]:
        assert self._function is not None
        found: list[dict[str, Any]] = []
        for i in reversed(range(self._count)):
            numbers = pa.RecordBatch.from_pydict({"id": pa.array([i], pa.int64())})
            for batch in self._function(iter([numbers])):
                found += batch.to_pylist()
        return found
