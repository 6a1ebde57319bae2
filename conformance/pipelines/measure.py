"""The time that the pipelines take: `python -m conformance.pipelines.measure [ROWS]`, on Spark's
local[2].

Generated records of 100 bytes in 4 partitions, and the flights; each pipeline once, after a small
one that starts Spark's Python workers. Seconds are those of the pipelines' own summaries: without
Spark's start.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

from conformance.pipelines.flights import flights_parquet
from conformance.spark.session import start_spark
from kafkalite.spark.pipelines import Columns, archive, audit, replay, seed

GENERATED = Columns(value="value", key="key", timestamp="timestamp", timestamp_ms=10**12)


def measure(spark: Any, name: str, base: Path, **source: Any) -> None:
    """seed, archive, replay, audit; one line each."""
    data_dir, root = base / "data", base / "archive"
    seeded = seed(topic="t", data_dir=data_dir, spark=spark, **source)
    archived = archive(root, data_dir=data_dir, spark=spark)
    replayed = replay(root, topic="t", data_dir=base / "again", spark=spark)
    assert seeded.partitions == archived.partitions == replayed.partitions
    audited = audit(data_dir, spark=spark)
    assert audited.is_sound
    for pipeline in (seeded, archived, replayed):
        print(
            f"| {name} | {pipeline.pipeline} | {pipeline.seconds:.1f} s | "
            f"{pipeline.rows / pipeline.seconds / 1e6:.2f} |",
            flush=True,
        )
    print(
        f"| {name} | audit | {audited.seconds:.1f} s | {seeded.rows / audited.seconds / 1e6:.2f} |",
        flush=True,
    )


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000_000
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        spark = start_spark(base / "spark")
        seed(topic="t", data_dir=base / "warm", generate=1000, columns=GENERATED, spark=spark)
        print("| records | pipeline | time | million rows/s |\n|---|---|---|---|")
        generated: dict[str, Any] = {"generate": rows, "partitions": 4, "columns": GENERATED}
        measure(spark, f"{rows:,} generated, 100 bytes", base / "generated", **generated)
        flights: dict[str, Any] = {"inputs": [flights_parquet(base)], "partitions": 3}
        columns = Columns(key="carrier", timestamp="time_hour")
        measure(
            spark,
            "336,776 flights as JSON, zstd",
            base / "flights",
            columns=columns,
            compression="zstd",
            **flights,
        )
        spark.stop()


if __name__ == "__main__":
    main()
