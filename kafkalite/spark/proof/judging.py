"""The verdict: for every record that was acknowledged, what became of it in both sinks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafkalite.spark.proof.source import values

# So many records are named of each thing that is wrong.
_MOST_NAMED: Final = 5


@dataclass(slots=True)
class Verdict:
    """True if the proof holds, and the figures it rests on. Lists name some (partition, offset)."""

    seed: int
    acknowledged: int
    kills: list[str] = field(default_factory=list[str])
    parquet_rows: int = 0
    kafka_rows: int = 0
    replayed_batches: int = 0
    """Batches of the Kafka sink that were interrupted, and run again."""
    duplicates: int = 0
    """Records that the Kafka sink has more than once, all of replayed batches."""
    problems: list[str] = field(default_factory=list[str])
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        return not self.problems

    def write_json(self, path: Path) -> None:
        """Raises OSError."""
        path.write_text(json.dumps({**asdict(self), "holds": self.holds}, indent=2) + "\n")

    def __str__(self) -> str:
        return "\n".join(
            [
                *(f"problem: {each}" for each in self.problems),
                f"kills: {', '.join(self.kills) or 'none'}",
                (
                    f"acknowledged {self.acknowledged:,} records; "
                    f"Parquet has {self.parquet_rows:,}, Kafka {self.kafka_rows:,} "
                    f"({self.duplicates:,} again, of {self.replayed_batches} replayed batches)"
                ),
                f"prove: {'holds' if self.holds else 'FAILS'}, {self.seconds:.1f} s",
            ]
        )


def judge_parquet(
    verdict: Verdict, seed: int, acknowledged: Sequence[int], rows: Iterable[Any]
) -> None:
    """Exactly once: tables of partition, offset, value hold each acknowledged record, and no
    other."""
    table = _all(rows, ("partition", "offset", "value"))
    verdict.parquet_rows = table.num_rows
    for partition, end in enumerate(acknowledged):
        own = table.filter(pc.equal(table.column("partition"), partition))
        counts = _count(verdict, "Parquet", seed, partition, end, own)
        _report(verdict, f"Parquet has twice, of partition {partition}", counts > 1)
        _report(verdict, f"Parquet lacks, of partition {partition}", counts == 0)


def judge_kafka(
    verdict: Verdict,
    seed: int,
    acknowledged: Sequence[int],
    rows: Iterable[Any],
    replayed: Sequence[Mapping[int, tuple[int, int]]],
) -> None:
    """At least once: what is there twice is of `replayed` batches, ranges of offsets by
    partition."""
    table = _all(rows, ("partition", "offset", "value"))
    verdict.kafka_rows = table.num_rows
    verdict.replayed_batches = len(replayed)
    for partition, end in enumerate(acknowledged):
        own = table.filter(pc.equal(table.column("partition"), partition))
        counts = _count(verdict, "the Kafka sink", seed, partition, end, own)
        _report(verdict, f"the Kafka sink lacks, of partition {partition}", counts == 0)
        # Each run of a batch writes each of its records at most once.
        allowed = np.ones(end, np.int64)
        for batch in replayed:
            first, last = batch.get(partition, (0, 0))
            allowed[first : min(last, end)] += 1
        verdict.duplicates += int(np.maximum(counts - 1, 0).sum())
        what = f"the Kafka sink has too often, of partition {partition}"
        _report(verdict, what, counts > allowed)


def _all(rows: Iterable[Any], names: Sequence[str]) -> Any:
    schema = pa.schema([("partition", pa.int64()), ("offset", pa.int64()), ("value", pa.string())])
    tables = [table.select(list(names)).cast(schema) for table in rows]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _count(verdict: Verdict, sink: str, seed: int, partition: int, end: int, own: Any) -> Any:
    """Count how often each offset [0, end) is there with its value. Anything else is a problem."""
    offsets = own.column("offset").to_numpy()
    inside = (offsets >= 0) & (offsets < end)
    if not inside.all():
        odd = sorted(set(offsets[~inside].tolist()))[:_MOST_NAMED]
        verdict.problems.append(
            f"{sink} has records of partition {partition} that were never acknowledged: "
            f"offsets {', '.join(map(str, odd))}"
        )
    kept = own.filter(pa.array(inside))
    offsets = offsets[inside]
    expected = values(seed, partition, 0, end).take(pa.array(offsets))
    right = pc.equal(kept.column("value").combine_chunks(), expected)
    right = right.fill_null(False).to_numpy(zero_copy_only=False)
    if not right.all():
        i = int(np.flatnonzero(~right)[0])
        verdict.problems.append(
            f"{sink} has {int((~right).sum())} other values in partition {partition}: at offset "
            f"{offsets[i]} {kept.column('value')[i].as_py()!r}, not {expected[i].as_py()!r}"
        )
    return np.bincount(offsets, minlength=end)


def _report(verdict: Verdict, what: str, wrong: Any) -> None:
    found = np.flatnonzero(wrong)
    if len(found):
        named = ", ".join(map(str, found[:_MOST_NAMED].tolist()))
        more = ", ..." if len(found) > _MOST_NAMED else ""
        verdict.problems.append(f"{what}, {len(found)} records: offsets {named}{more}")
