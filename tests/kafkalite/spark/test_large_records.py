"""Large records, and inputs that do not fit: pieces that a task can hold, and one sentence."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from kafkalite.spark import segment_files
from kafkalite.spark.data_directory import Isolation
from kafkalite.spark.pipelines import (
    Columns,
    PipelineError,
    archive,
    archiving,
    input_files,
    replay,
    seed,
)
from kafkalite.spark.pipelines.manifest import Manifest
from kafkalite.spark.pipelines.network import NetworkSink
from kafkalite.spark.pipelines.pieces import Piece, PieceWriter, temporary_directory
from kafkalite.spark.pipelines.progress_file import ProgressFile
from kafkalite.spark.pipelines.sinks import DataDirectorySink
from kafkalite.spark.pipelines.stored import DirectoryReader
from kafkalite.testing import broker
from kafkalite.wire.record_batch import iterate_records
from tests.kafkalite.spark.local_spark import LocalSpark

SPARK = LocalSpark()


def generated(data_dir: Path, count: int) -> Any:
    columns = Columns(value="value", key="key", timestamp="timestamp", timestamp_ms=10**12)
    to = {"topic": "t", "data_dir": data_dir, "columns": columns, "spark": SPARK}
    return seed(generate=count, value_bytes=1000, **to)


def test_large_records_make_smaller_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task holds one in memory, and Arrow has no column of more than 2 GiB."""
    data_dir, root = tmp_path / "data", tmp_path / "archive"
    seeded = generated(data_dir, 5000)
    monkeypatch.setattr(segment_files, "CHUNK_BYTES", 1 << 20)
    monkeypatch.setattr(archiving, "_RANGE_BYTES", 1_500_000)
    monkeypatch.setattr(archiving, "_RANGE_OFFSETS", 2500)
    archived = archive(root, data_dir=data_dir, spark=SPARK)
    ranges = Manifest.load(root).topics["t"].partitions[0]
    assert all(0 < each.rows <= 2100 for each in ranges)
    assert [each.start for each in ranges[1:]] == [each.end for each in ranges[:-1]]
    assert 2500 in [each.start for each in ranges]
    assert len(list(root.rglob("*.parquet"))) == len(ranges)
    replayed = replay(root, topic="t", data_dir=tmp_path / "again", spark=SPARK)
    assert archived.partitions == replayed.partitions == seeded.partitions


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told by the task that met it, and the next run goes on."""
    data_dir, root = tmp_path / "data", tmp_path / "archive"
    generated(data_dir, 1000)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "a.parquet")

    with monkeypatch.context() as patch:
        patch.setattr(pa.parquet, "write_table", full)
        with pytest.raises(PipelineError, match=r"^a\.parquet: No space left on device$"):
            archive(root, data_dir=data_dir, spark=SPARK)
    assert archive(root, data_dir=data_dir, spark=SPARK).rows == 1000


def test_a_time_that_spark_cannot_hold_is_refused(tmp_path: Path) -> None:
    """A column of nanoseconds makes such: nothing of Spark could read the topic."""
    path, data_dir = tmp_path / "rows.parquet", tmp_path / "data"
    pa.parquet.write_table(pa.table({"at": [1, 1_700_000_000_000_000_000]}), path)
    columns = Columns(timestamp="at")
    with pytest.raises(PipelineError, match="'at' has the time 1700000000000000000, which is too"):
        seed([path], topic="t", data_dir=data_dir, columns=columns, spark=SPARK)


def test_large_rows_make_smaller_parts_and_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.parquet"
    value = pa.array([bytes([i % 256]) * 1000 for i in range(400)])
    pa.parquet.write_table(pa.table({"v": value}), path, row_group_size=50, use_dictionary=False)
    monkeypatch.setattr(input_files, "_PART_BYTES", 100_000)
    monkeypatch.setattr(input_files, "_STEP_BYTES", 10_000)
    parts = input_files.split(str(path), "parquet")[1]
    assert [each.row_groups for each in parts] == [(i, i + 1) for i in range(0, 8, 2)]
    assert [table.num_rows for table in parts[0].tables()] == [9] * 11 + [1]
    made = input_files.generated_parts(250, 1, 1000, 0)
    assert [each.count for each in made] == [100, 100, 50]
    assert {table.num_rows for table in made[0].tables()} == {10}


@pytest.mark.parametrize("row_count", [0, 1, 700])
def test_pieces_of_all_partitions_are_those_of_each(tmp_path: Path, row_count: int) -> None:
    """Also where a partition has more than a batch."""
    values = [b"%d" % i + b"x" * (40_000 if i % 7 == 3 else 9) for i in range(row_count)]
    rows = pa.table(
        {
            "key": pa.array([None, b"k"] * row_count, pa.binary())[:row_count],
            "value": pa.array(values, pa.binary()),
            "timestamp": pa.array(range(row_count), pa.int64()),
        }
    )
    partitions = np.arange(row_count) % 7
    together, apart = PieceWriter(tmp_path), PieceWriter(tmp_path)
    for _ in range(2):
        together.add_all(rows, partitions)
        for partition in np.unique(partitions).tolist():
            apart.add(partition, rows.filter(pa.array(partitions == partition)))
    found = [
        [
            (piece.partition, piece.rows, piece.hashes().tolist(), list(records_of(piece)))
            for piece in writer.pieces()
        ]
        for writer in (together, apart)
    ]
    assert found[0] == found[1]
    assert sum(piece.rows for piece in together.pieces()) == 2 * row_count


def records_of(piece: Piece) -> Iterator[list[tuple[int, bytes | None, bytes | None]]]:
    """A list for each batch."""
    for batch in piece.batches():
        yield [(each.timestamp, each.key, each.value) for each in iterate_records(batch)]


def test_an_append_does_not_go_on_into_another_topic(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made anew after an interrupted run, it ends before where that run began."""
    source, root, target = tmp_path / "source", tmp_path / "archive", tmp_path / "target"
    generated(source, 100)
    archive(root, data_dir=source, spark=SPARK)
    generated(target, 50)
    again = {"topic": "t", "append": True, "spark": SPARK}
    with monkeypatch.context() as patch:
        patch.setattr(ProgressFile, "end", lambda _: None)  # as if it were killed before
        replay(root, data_dir=target, **again)
    monkeypatch.chdir(tmp_path)
    assert replay(root, data_dir="target", **again).rows == 100  # which were there
    with monkeypatch.context() as patch:
        patch.setattr(ProgressFile, "end", lambda _: None)
        replay(root, data_dir=target, **again)
    shutil.rmtree(target)
    with pytest.raises(PipelineError, match=r"offset 0 in partition 0, not 150; remove .*_replay-"):
        replay(root, data_dir=target, **again)
    assert everything(target) == []
    (left,) = root.glob("_replay-*")
    left.unlink()
    assert replay(root, data_dir=target, **again).rows == len(everything(target)) == 100


def test_an_append_that_is_killed_when_all_is_there_is_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The topic is closed, which takes time, before the run forgets where it began."""
    source, root, target = tmp_path / "source", tmp_path / "archive", tmp_path / "target"
    generated(source, 100)
    archive(root, data_dir=source, spark=SPARK)
    leave = DataDirectorySink.__exit__

    def killed(self: DataDirectorySink, *how: Any) -> None:
        leave(self, *how)
        raise RuntimeError("killed")

    again = {"topic": "t", "data_dir": target, "append": True, "spark": SPARK}
    with monkeypatch.context() as patch:
        patch.setattr(DataDirectorySink, "__exit__", killed)
        with pytest.raises(RuntimeError, match="killed"):
            replay(root, **again)
    assert replay(root, **again).rows == len(everything(target)) == 100


def test_a_replay_over_the_network_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every record at its own offset, and none twice."""
    source, root = tmp_path / "source", tmp_path / "archive"
    generated(source, 3000)
    monkeypatch.setattr(archiving, "_RANGE_OFFSETS", 700)
    archived = archive(root, data_dir=source, spark=SPARK)
    whole, appends = NetworkSink.append, 0

    def failing(self: NetworkSink, partition: int, batch: bytearray, record_count: int) -> int:
        nonlocal appends
        appends += 1
        if appends == 3:
            raise PipelineError("the network is gone")
        return whole(self, partition, batch, record_count)

    with broker() as b:
        to: dict[str, Any] = {"topic": "t", "bootstrap": b.bootstrap, "spark": SPARK}
        with monkeypatch.context() as patch:
            patch.setattr(NetworkSink, "append", failing)
            with pytest.raises(PipelineError, match="network is gone"):
                replay(root, **to)
        with pytest.raises(PipelineError, match=r"not empty.*--resume"):
            replay(root, **to)
        assert replay(root, resume=True, **to).partitions == archived.partitions
        assert replay(root, resume=True, **to).partitions == archived.partitions
        there = archive(tmp_path / "second", topics=["t"], bootstrap=b.bootstrap, spark=SPARK)
        assert there.partitions == archived.partitions
        b.create_topic("other")
        b.produce("other", "somebody else's")
        with pytest.raises(PipelineError, match="other records"):
            replay(root, into="other", resume=True, **to)
        assert len(b.records("other")) == 1
    with pytest.raises(PipelineError, match="--resume is for --bootstrap"):
        replay(root, topic="t", data_dir=source, resume=True, spark=SPARK)


def everything(data_dir: Path) -> list[Any]:
    source = DirectoryReader((data_dir,))
    if ("t", 0) not in source.partitions():
        return []
    bounds = source.bounds("t", 0, Isolation.READ_UNCOMMITTED)
    read = source.read("t", 0, *bounds, Isolation.READ_UNCOMMITTED)
    return [row for batch in read for row in batch.to_pylist()]


def test_pieces_of_a_run_that_was_killed_are_removed(tmp_path: Path) -> None:
    """By the next run beside them; those of one that is alive stay."""
    ended = tmp_path / ".kafkalite-seed-ended"
    with temporary_directory("seed", tmp_path / "one") as alive:
        shutil.copytree(alive, ended)
        (ended / "0.batches").touch()
        (tmp_path / ".kafkalite-seed-of-somebody").mkdir()
        with temporary_directory("seed", tmp_path / "other") as second:
            assert alive.exists()
            assert second.parent == alive.parent == tmp_path
    assert [each.name for each in tmp_path.iterdir()] == [".kafkalite-seed-of-somebody"]


@pytest.mark.parametrize("format", ["json", "csv"])
def test_a_row_may_be_larger_than_a_block(tmp_path: Path, format: str) -> None:
    """Arrow reads text by blocks of 1 MiB."""
    path = tmp_path / f"rows.{format}"
    long = "x" * 5_000_000
    lines = {"csv": f"a,b\n1,{long}\n2,y\n", "json": f'{{"a":1,"b":"{long}"}}\n{{"a":2,"b":"y"}}\n'}
    path.write_text(lines[format])
    schema, [part], _ = input_files.split(str(path), format)
    assert schema.names == ["a", "b"]
    rows = [row for table in part.tables() for row in table.to_pylist()]
    assert rows == [{"a": 1, "b": long}, {"a": 2, "b": "y"}]


@pytest.mark.parametrize("folder", ["_temporary/0", "_delta_log", ".hidden"])
def test_folders_that_hold_no_rows_are_passed_over(tmp_path: Path, folder: str) -> None:
    """Unfinished files of Spark, and the log of a Delta table."""
    table = tmp_path / "_table"  # the folder that was named may have any name
    for inside in ("date=2026-01-01", folder):
        (table / inside).mkdir(parents=True)
        (table / inside / "0.json").write_text("{}")
    found = input_files.find_files([table])
    assert found == [(str(table / "date=2026-01-01/0.json"), "json")]
