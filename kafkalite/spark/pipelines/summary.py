"""The summary of a pipeline: rows, offsets and a digest for each partition."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kafkalite.spark import digest


@dataclass(slots=True)
class PartitionSummary:
    """A partition's records from `start_offset` up to, not including, `end_offset`."""

    topic: str
    partition: int
    rows: int
    start_offset: int
    end_offset: int
    digest: str
    """Digest of the records with their offsets (kafkalite.spark.digest), 16 hex digits."""

    @classmethod
    def of(
        cls, topic: str, partition: int, rows: int, start: int, end: int, total: int
    ) -> PartitionSummary:
        return cls(topic, partition, rows, start, end, digest.text(total))


@dataclass(slots=True)
class Summary:
    """The outcome of a pipeline. `seconds` is wall clock time, without Spark's start.

    `done` are the rows of this run; the partitions' may be those of earlier ones, too.
    """

    pipeline: str
    partitions: list[PartitionSummary]
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list[str])
    done: int | None = None

    @property
    def rows(self) -> int:
        return sum(partition.rows for partition in self.partitions)

    def as_dict(self) -> dict[str, object]:
        return {**asdict(self), "rows": self.rows}

    def write_json(self, path: Path) -> None:
        """Raises OSError."""
        path.write_text(json.dumps(self.as_dict(), indent=2) + "\n")

    def __str__(self) -> str:
        rows = [
            (
                f"{each.topic}-{each.partition}",
                f"{each.rows:,}",
                f"[{each.start_offset}, {each.end_offset})",
                each.digest,
            )
            for each in self.partitions
        ]
        lines = table([("partition", "rows", "offsets", "digest"), *rows])
        done = self.rows if self.done is None else self.done
        rate = f", {done / self.seconds:,.0f} rows/s" if done and self.seconds > 0 else ""
        lines.append(f"{self.pipeline}: {done:,} rows in {self.seconds:.1f} s{rate}")
        return "\n".join([*lines, *self.notes])


def table(rows: Iterable[tuple[str, ...]]) -> list[str]:
    """Columns under each other; numbers to the right."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if cell[:1].isdigit() and i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
