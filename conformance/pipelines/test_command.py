"""`kafkalite pipeline`, as it is typed: what it says, what it leaves, its exit code, its progress
bar."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from kafkalite.__main__ import main

ROWS = 3000

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a pipeline in the Spark that is there; its exit code, and what it said and drew."""

    def pipeline(*arguments: str | Path) -> tuple[int, str, str]:
        code = main(["pipeline", *map(str, arguments)])
        output = capsys.readouterr()
        return code, output.out, output.err

    return pipeline


def digests(said: str) -> list[str]:
    """The lines of the partitions: rows, offsets and a digest for each."""
    return [line for line in said.splitlines() if line.startswith("t-")]


def test_there_and_back_and_looked_at(run: Run, tmp_path: Path) -> None:
    names = pa.array([f"name-{i % 17}" for i in range(ROWS)])
    pq.write_table(pa.table({"name": names, "i": range(ROWS)}), tmp_path / "rows.parquet")
    data, root, again = tmp_path / "data", tmp_path / "archive", tmp_path / "again"
    to = ("--topic", "t", "--partitions", "2", "--data-dir", data)
    code, said, drawn = run("seed", tmp_path / "rows.parquet", *to, "--key", "name")
    assert code == 0
    seeded = digests(said)
    assert len(seeded) == 2
    assert f"seed: {ROWS:,} rows in " in said
    assert "seed: 100%" in drawn
    assert "3.00k/3.00k" in drawn

    summary = tmp_path / "summary.json"
    code, said, drawn = run("archive", root, "--data-dir", data, "--summary", summary)
    assert (code, digests(said)) == (0, seeded)
    assert "archive: 100%" in drawn
    assert json.loads(summary.read_text())["rows"] == ROWS
    code, said, drawn = run("archive", root, "--data-dir", data)
    assert (code, digests(said)) == (0, seeded)
    assert "archive: 0 rows in " in said

    code, said, drawn = run("replay", root, "--topic", "t", "--data-dir", again, "--quiet")
    assert (code, digests(said), drawn) == (0, seeded, "")

    report = tmp_path / "report"
    code, said, drawn = run("audit", again, "--report", report)
    assert code == 0
    assert said.rstrip().endswith(": sound")
    assert "audit: 100%" in drawn
    assert json.loads((report / "audit.json").read_text())["sound"]
    log = again / "t-1" / f"{0:020d}.log"
    damaged = bytearray(log.read_bytes())
    damaged[100] ^= 1
    log.write_bytes(damaged)
    code, said, _ = run("audit", again, "--report", report, "--summary", summary)
    assert code == 1
    assert "checksum" in said
    assert "damaged" in (report / "audit.html").read_text()
    assert not json.loads(summary.read_text())["sound"]
