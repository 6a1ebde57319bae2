"""Spark's connector: how long a record takes into a micro-batch, and what an idle stream costs."""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path

from conformance.benchmarks.sampling import Side


class Stream:
    """One stream, default trigger: see conformance/spark/latency.py."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.records = 3 if side.quick else 40

    def sample(self) -> dict[str, float]:
        from conformance.spark.latency import measured  # PySpark takes its time to import

        with tempfile.TemporaryDirectory() as directory:
            result = measured(self.side.broker, Path(directory), 1, self.records)
        return {
            "median ms": statistics.median(result.latencies_ms),
            "p90 ms": statistics.quantiles(result.latencies_ms, n=10)[8],
            "% of a core idle": 100 * result.idle_share,
        }

    def close(self) -> None:
        pass
