"""The proof's verdict, plan and bookkeeping, without Spark: what must fail fails."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from kafkalite.spark.pipelines.command import main
from kafkalite.spark.pipelines.errors import CouldNotBegin
from kafkalite.spark.proof import proving
from kafkalite.spark.proof.checkpoints import interrupted, planned_end, sink_files
from kafkalite.spark.proof.judging import Verdict, judge_kafka, judge_parquet
from kafkalite.spark.proof.planting import plant
from kafkalite.spark.proof.processes import DriverProcess, check_java
from kafkalite.spark.proof.proving import plan_kills
from kafkalite.spark.proof.source import SOURCE, batches, values
from kafkalite.wire.record_batch import RecordBatch, iterate_batches, iterate_records

SEED, ACKNOWLEDGED = 5, [100, 40]


def copied(partition: int, start: int, end: int) -> Any:
    return pa.table(
        {
            "partition": np.full(end - start, partition),
            "offset": np.arange(start, end),
            "value": values(SEED, partition, start, end),
        }
    )


def parquet(*tables: Any) -> Verdict:
    verdict = Verdict(SEED, sum(ACKNOWLEDGED))
    judge_parquet(verdict, SEED, ACKNOWLEDGED, tables)
    return verdict


def kafka(*tables: Any, replayed: tuple[dict[int, tuple[int, int]], ...] = ()) -> Verdict:
    verdict = Verdict(SEED, sum(ACKNOWLEDGED))
    judge_kafka(verdict, SEED, ACKNOWLEDGED, tables, replayed)
    return verdict


ALL = (copied(0, 0, 100), copied(1, 0, 40))


def test_all_once_holds() -> None:
    assert parquet(*ALL).problems == []
    assert kafka(*ALL).problems == []


@pytest.mark.parametrize("judge", [parquet, kafka])
def test_what_is_lost_is_seen(judge: Any) -> None:
    (problem,) = judge(copied(0, 0, 60), copied(0, 80, 100), copied(1, 0, 40)).problems
    assert "lacks, of partition 0, 20 records: offsets 60, 61" in problem


@pytest.mark.parametrize("judge", [parquet, kafka])
def test_what_is_there_twice_is_seen(judge: Any) -> None:
    (problem,) = judge(*ALL, copied(1, 7, 9)).problems
    assert "of partition 1, 2 records: offsets 7, 8" in problem


@pytest.mark.parametrize("judge", [parquet, kafka])
def test_what_nobody_sent_is_seen(judge: Any) -> None:
    assert "never acknowledged: offsets 100" in judge(*ALL, copied(0, 100, 101)).problems[0]
    wrong = copied(1, 0, 40).set_column(2, "value", values(SEED, 0, 0, 40))
    assert "40 other values in partition 1: at offset 0 '5:0:0'" in judge(ALL[0], wrong).problems[0]


def test_only_replayed_batches_may_be_there_twice() -> None:
    batch = {0: (50, 60), 1: (0, 10)}
    again = (copied(0, 50, 60), copied(1, 0, 10))
    verdict = kafka(*ALL, *again, replayed=(batch,))
    assert verdict.problems == []
    assert verdict.duplicates == 20
    # the first run may have been cut short, but no record may be there a third time
    assert kafka(*ALL, copied(0, 50, 55), replayed=(batch,)).problems == []
    assert kafka(*ALL, *again, *again, replayed=(batch,)).problems
    assert kafka(*ALL, copied(0, 59, 61), replayed=(batch,)).problems


def test_a_plan_follows_from_its_seed() -> None:
    plan = plan_kills(3, 10_000, 6)
    assert plan == plan_kills(3, 10_000, 6)
    assert plan != plan_kills(4, 10_000, 6)
    assert [kill.records for kill in plan] == sorted(kill.records for kill in plan)
    assert {kill.target for kill in plan} == {"broker", "driver"}


@pytest.mark.parametrize("bug", ["lost-batch", "repeated-batch"])
def test_a_planted_bug_is_what_it_says(tmp_path: Path, bug: str) -> None:
    path = tmp_path / f"{SOURCE}-0" / f"{0:020d}.log"
    path.parent.mkdir()
    made, base = b"", 0
    for data, count in batches(SEED, 0, 0, 1000):
        made += base.to_bytes(8, "big") + data[8:]
        base += count
    path.write_bytes(made)
    assert not plant(bug, tmp_path, {0: 1000})  # Spark has read it all
    assert plant(bug, tmp_path, {0: 0})
    found = list(iterate_batches(path.read_bytes()))
    for before, after in itertools.pairwise(found):
        assert after.base_offset == before.next_offset
    rows = [
        record.value for batch in found if batch.is_valid() for record in iterate_records(batch)
    ]
    last = RecordBatch(list(batches(SEED, 0, 0, 1000))[-1][0])
    if bug == "lost-batch":
        assert found[-1].next_offset == 1000
        assert len(rows) == 1000 - last.record_count
    else:
        assert len(rows) == 1000 + last.record_count
        assert rows[-last.record_count :] == rows[-2 * last.record_count : -last.record_count]


def test_sparks_own_notes_are_read(tmp_path: Path) -> None:
    checkpoint, sink = tmp_path / "checkpoint", tmp_path / "sink"
    for kind in ("offsets", "commits"):
        (checkpoint / kind).mkdir(parents=True)
    for number in range(3):
        ends = json.dumps({SOURCE: {"0": 10 * number, "1": 5}})
        (checkpoint / "offsets" / str(number)).write_text(f"v1\n{{}}\n{ends}\n")
        (checkpoint / "offsets" / f".{number}.crc").write_bytes(b"")
    (checkpoint / "commits" / "0").write_text("v1\n{}")
    assert interrupted(checkpoint) == {1, 2}
    assert planned_end(checkpoint, 2) == {0: 20, 1: 5}
    assert planned_end(checkpoint, -1) == {}
    log = sink / "_spark_metadata"
    log.mkdir(parents=True)

    def entry(name: str) -> str:
        return json.dumps({"path": f"file://{sink}/{name}", "action": "add"})

    (log / "8").write_text(f"v1\n{entry('old')}\n")
    (log / "9.compact").write_text(f"v1\n{entry('old')}\n{entry('a%20b')}\n")
    (log / "10").write_text(f"v1\n{entry('new')}\n")
    assert sink_files(sink) == [sink / "old", sink / "a b", sink / "new"]
    assert sink_files(tmp_path / "none") == []


def a_java(home: Path) -> Path:
    """A program of that name, which is never run."""
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").touch(0o755)
    return home


PROVE = ("prove", "proof", "--records", "400", "--kills", "1", "--quiet")


@pytest.mark.parametrize(
    ("home", "told"), [("", "none is in PATH"), ("/nowhere", "JAVA_HOME has no /nowhere/bin/java")]
)
def test_without_a_java_nothing_is_started(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    home: str,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", home)
    for name in ("SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert main(list(PROVE)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"Spark needs Java: {told}" in line
    assert [each.name for each in (tmp_path / "proof").iterdir()] == ["plan.json"]


def test_where_spark_finds_a_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In JAVA_HOME, else in PATH; or where a file of settings says, which only Spark reads."""
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = a_java(tmp_path)
    monkeypatch.setenv("PATH", str(home / "bin"))
    check_java()
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("JAVA_HOME", str(home))
    check_java()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(CouldNotBegin):
        check_java()
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-env.sh").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    check_java()


def test_a_driver_that_never_starts_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A connector that cannot be found proves nothing: exit 2, and at once."""

    class Broken(DriverProcess):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self._command = ["-c", "raise LookupError('spark-sql-kafka-0-10 not found')"]

    monkeypatch.setattr(proving, "DriverProcess", Broken)
    monkeypatch.setenv("JAVA_HOME", str(a_java(tmp_path / "java")))
    began = time.monotonic()
    arguments = ["prove", str(tmp_path / "proof"), "--records", "400", "--kills", "1", "--quiet"]
    assert main(arguments) == 2
    assert time.monotonic() - began < 60  # a driver that copies nothing is waited for 180 s
    (line,) = capsys.readouterr().err.splitlines()
    assert "Spark did not start: LookupError: spark-sql-kafka-0-10 not found" in line
    assert not (tmp_path / "proof" / "verdict.json").exists()
