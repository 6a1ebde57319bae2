"""The pipelines' own logic: what they keep, what they refuse, and how they go on."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from kafkalite.spark.audit.auditing import judge, plan_audit
from kafkalite.spark.client import Client
from kafkalite.spark.data_directory import Isolation, list_partitions
from kafkalite.spark.pipelines import (
    Columns,
    PipelineError,
    archive,
    archiving,
    input_files,
    replay,
    seed,
)
from kafkalite.spark.pipelines.delivery import Delivery
from kafkalite.spark.pipelines.json_rows import json_objects
from kafkalite.spark.pipelines.manifest import MANIFEST, Manifest
from kafkalite.spark.pipelines.pacing import Pace, pace_windows
from kafkalite.spark.pipelines.partitioner import murmur2
from kafkalite.spark.pipelines.pieces import PieceWriter
from kafkalite.spark.pipelines.sinks import DataDirectorySink
from kafkalite.spark.pipelines.stored import DirectoryReader
from kafkalite.testing import broker as test_broker
from kafkalite.wire.record_batch import iterate_records
from tests.kafkalite.spark.local_spark import LocalSpark
from tests.kafkalite.spark.sound_directory import append, make_sound_directory, records

SPARK = LocalSpark()
COLUMNS = Columns(value="value", key="key", timestamp="timestamp", timestamp_ms=10**12)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data_dir = tmp_path_factory.mktemp("sound") / "data"
    make_sound_directory(data_dir)
    return data_dir


def everything(data_dir: Path, topic: str) -> Any:
    """All rows of partition 0, and the bounds of its log."""
    source = DirectoryReader((data_dir,))
    bounds = source.bounds(topic, 0, Isolation.READ_UNCOMMITTED)
    rows = source.read(topic, 0, *bounds, Isolation.READ_UNCOMMITTED)
    return bounds, pa.Table.from_batches(list(rows)).to_pylist()


def generated(topic: str, data_dir: Path, count: int = 1000, **more: Any) -> Any:
    options = {"generate": count, "columns": COLUMNS, "spark": SPARK, **more}
    return seed(topic=topic, data_dir=data_dir, **options)


@pytest.mark.parametrize("topic", ["orders", "stamped", "zipped", "users"])
def test_a_topic_comes_back_as_it_was(sound: Path, tmp_path: Path, topic: str) -> None:
    """Holes of compaction, the broker's timestamps, every codec; and the copy is sound, too."""
    archived = archive(tmp_path / "archive", topics=[topic], data_dir=sound, spark=SPARK)
    target = tmp_path / "data"
    replayed = replay(tmp_path / "archive", topic=topic, data_dir=target, spark=SPARK)
    assert archived.partitions == replayed.partitions
    assert everything(target, topic) == everything(sound, topic)
    plan = plan_audit(target, [topic])
    assert judge(plan, [each for task in plan.tasks for each in task.run()]).findings == []
    with test_broker(data_dir=target) as broker:
        # The broker goes on behind it, in as many partitions as there were.
        append(broker, topic, records(1, key=b"%d"))


def test_an_empty_partition_comes_back_too(tmp_path: Path) -> None:
    """Else keys would go elsewhere in the copy."""
    with test_broker(data_dir=tmp_path / "data") as broker:
        broker.create_topic("t", partitions=4)
        append(broker, "t", records(3))  # into partition 0
    archive(tmp_path / "archive", topics=["t"], data_dir=tmp_path / "data", spark=SPARK)
    replay(tmp_path / "archive", topic="t", data_dir=tmp_path / "copy", spark=SPARK)
    assert [each.partition for each in list_partitions(tmp_path / "copy")] == [0, 1, 2, 3]
    with test_broker() as other:
        at = other.bootstrap
        replay(tmp_path / "archive", topic="t", bootstrap=at, spark=SPARK)
        with Client(at) as client:
            assert client.partitions(["t"]) == {"t": [0, 1, 2, 3]}


def test_aborted_records_leave_holes(sound: Path, tmp_path: Path) -> None:
    archive(tmp_path / "archive", topics=["payments"], data_dir=sound, spark=SPARK)
    replay(tmp_path / "archive", topic="payments", data_dir=tmp_path / "data", spark=SPARK)
    (start, end), rows = everything(tmp_path / "data", "payments")
    assert (start, end) == (0, 24)
    assert [row["offset"] for row in rows] == [*range(5), *range(6, 11), *range(18, 23)]


def test_an_interrupted_archive_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_dir = tmp_path / "data"
    generated("t", data_dir, partitions=2)
    monkeypatch.setattr(archiving, "_RANGE_OFFSETS", 100)
    whole = archiving._into_place
    placed = 0

    def failing(*done: Any) -> None:
        nonlocal placed
        placed += 1
        whole(*done)
        if placed == 4:
            raise OSError("the power is gone")

    with monkeypatch.context() as patch:
        patch.setattr(archiving, "_into_place", failing)
        with pytest.raises(OSError, match="power"):
            archive(tmp_path / "archive", data_dir=data_dir, spark=SPARK)
    rest = archive(tmp_path / "archive", data_dir=data_dir, spark=SPARK)
    assert (rest.done, rest.rows) == (700, 1000)
    at_once = archive(tmp_path / "other", data_dir=data_dir, spark=SPARK)
    assert rest.partitions == at_once.partitions
    named = {file.path for file in Manifest.load(tmp_path / "archive").files("t")}
    there = {
        str(path.relative_to(tmp_path / "archive"))
        for path in (tmp_path / "archive").rglob("*.parquet")
    }
    assert named == there
    again = archive(tmp_path / "archive", data_dir=data_dir, spark=SPARK)
    assert again.done == 0


def test_an_archive_says_what_it_lost(tmp_path: Path) -> None:
    data_dir, root = tmp_path / "data", tmp_path / "archive"
    generated("t", data_dir)
    archive(root, data_dir=data_dir, spark=SPARK)
    with test_broker(data_dir=data_dir) as broker:
        append(broker, "t", records(10))
        append(broker, "t", records(10))
        broker.force_data_loss("t", 0, 1010)
    with pytest.raises(PipelineError, match=r"\[1000, 1010\) were deleted unarchived"):
        archive(root, data_dir=data_dir, spark=SPARK)
    lossy = archive(root, data_dir=data_dir, allow_loss=True, spark=SPARK)
    assert lossy.done == 10
    assert "unarchived" in lossy.notes[0]
    shutil.rmtree(data_dir)
    generated("t", data_dir, 10)
    with pytest.raises(PipelineError, match="another topic of that name"):
        archive(root, data_dir=data_dir, spark=SPARK)
    with pytest.raises(PipelineError, match="cannot go on as read_uncommitted"):
        archive(root, data_dir=data_dir, isolation="read_uncommitted", spark=SPARK)


def test_an_archive_goes_on_when_retention_is_faster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes records that were there when the ranges were planned."""
    data_dir, root = tmp_path / "data", tmp_path / "archive"
    generated("t", data_dir)
    monkeypatch.setattr(archiving, "_RANGE_OFFSETS", 100)
    starts = iter([250, 480])
    with test_broker(data_dir=data_dir) as broker:

        def lost_meanwhile(*job: Any, run: Any = archiving.run_parts) -> Any:
            broker.force_data_loss("t", 0, next(starts))
            return run(*job)

        monkeypatch.setattr(archiving, "run_parts", lost_meanwhile)
        with pytest.raises(PipelineError, match="t-0"):
            archive(root, bootstrap=broker.bootstrap, spark=SPARK)
        found = archive(root, bootstrap=broker.bootstrap, allow_loss=True, spark=SPARK)
    assert found.done == 520
    assert found.notes == [
        f"t-0: offsets [{start}, {end}) were deleted unarchived"
        for start, end in ((250, 350), (350, 450), (450, 480))
    ]
    replayed = replay(root, topic="t", data_dir=tmp_path / "again", spark=SPARK)
    assert replayed.partitions == found.partitions


def test_a_broken_archive_is_not_replayed(tmp_path: Path) -> None:
    data_dir, root, target = tmp_path / "data", tmp_path / "archive", tmp_path / "target"
    generated("t", data_dir)
    archive(root, data_dir=data_dir, spark=SPARK)
    (file,) = root.rglob("*.parquet")
    sound_bytes = file.read_bytes()
    file.write_bytes(sound_bytes[:-10])
    with pytest.raises(PipelineError, match=r"has \d+ bytes, and had \d+"):
        replay(root, topic="t", data_dir=target, spark=SPARK)
    file.write_bytes(b"\0" * len(sound_bytes))
    with pytest.raises(PipelineError, match="cannot be read"):
        replay(root, topic="t", data_dir=target, spark=SPARK)
    table = pa.parquet.ParquetFile(_written(file, sound_bytes)).read()
    changed = table.set_column(1, "value", pa.array([b"x"] * table.num_rows))
    pa.parquet.write_table(changed, file)
    stored = json.loads((root / MANIFEST).read_text())
    stored["topics"]["t"]["partitions"]["0"][0]["files"][0]["size_bytes"] = file.stat().st_size
    (root / MANIFEST).write_text(json.dumps(stored))
    with pytest.raises(PipelineError, match="the manifest says"):
        replay(root, topic="t", data_dir=target, spark=SPARK)
    assert not list(target.glob("t-*"))
    file.unlink()
    with pytest.raises(PipelineError, match="No such file"):
        replay(root, topic="t", data_dir=target, spark=SPARK)
    (root / MANIFEST).write_text("{")
    with pytest.raises(PipelineError, match="cannot be read"):
        replay(root, topic="t", data_dir=target, spark=SPARK)


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_an_interrupted_append_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_dir, root = tmp_path / "data", tmp_path / "archive"
    monkeypatch.setattr(archiving, "_RANGE_OFFSETS", 50)
    generated("t", data_dir, 500)
    first = archive(root, data_dir=data_dir, spark=SPARK)
    whole, appends = DataDirectorySink.append, 0

    def failing(self: Any, partition: int, batch: bytearray, record_count: int) -> int:
        nonlocal appends
        appends += 1
        if appends == 4:
            raise PipelineError("the disk is full")
        return whole(self, partition, batch, record_count)

    with monkeypatch.context() as patch:
        patch.setattr(DataDirectorySink, "append", failing)
        with pytest.raises(PipelineError, match="full"):
            replay(root, topic="t", data_dir=data_dir, append=True, spark=SPARK)
    assert everything(data_dir, "t")[0] == (0, 650)
    replay(root, topic="t", data_dir=data_dir, append=True, spark=SPARK)
    (start, end), rows = everything(data_dir, "t")
    assert (start, end) == (0, 1000)
    values = [row["value"] for row in rows]
    assert values[:500] == values[500:]
    assert first.rows == 500
    assert not list(root.glob("_replay-*"))
    with pytest.raises(PipelineError, match="not empty"):
        replay(root, topic="t", data_dir=data_dir, spark=SPARK)


def test_a_failed_seed_leaves_no_topic(tmp_path: Path) -> None:
    path, data_dir = tmp_path / "rows.parquet", tmp_path / "data"
    numbers = pa.array([0] * 100_000 + [7])
    pa.parquet.write_table(pa.table({"where": numbers}), path, row_group_size=60_000)
    columns = Columns(partition="where", timestamp_ms=1)
    with pytest.raises(PipelineError, match="partition 7, and there are 0 to 1"):
        seed([path], topic="t", data_dir=data_dir, partitions=2, columns=columns, spark=SPARK)
    assert not list(data_dir.glob("t-*"))
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []
    seeded = seed([path], topic="t", data_dir=data_dir, partitions=8, columns=columns, spark=SPARK)
    assert [each.rows for each in seeded.partitions] == [100_000, *[0] * 6, 1]


def test_a_seed_is_what_it_was(tmp_path: Path) -> None:
    one = generated("t", tmp_path / "one", 3000, partitions=3, seed=4)
    two = generated("t", tmp_path / "two", 3000, partitions=3, seed=4, compression="lz4")
    other = generated("t", tmp_path / "other", 3000, partitions=3, seed=5)
    assert one.partitions == two.partitions
    assert one.partitions != other.partitions


def test_a_large_file_is_split_by_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(pa.table({"i": range(2000)}), path, row_group_size=300)
    columns = Columns(key="i", timestamp_ms=1)
    made = []
    for part_rows in (250_000, 500):
        monkeypatch.setattr(input_files, "_PART_ROWS", part_rows)
        to = {"data_dir": tmp_path / f"data-{part_rows}", "partitions": 2}
        made.append(seed([path], topic="t", columns=columns, spark=SPARK, **to))
    assert made[0].partitions == made[1].partitions
    assert len(input_files.split(str(path), "parquet")[1]) == 4


def test_all_columns_find_their_place(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "name": 'Zoë "Z"\n', "price": 1.5, "at": 1000, "ok": True},
        {"id": 2, "name": None, "price": float("nan"), "at": 2000, "ok": None},
    ]
    pa.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "rows.parquet")
    columns = Columns(key="id", timestamp="at", headers=(("n", "name"), ("ok", "ok")))
    seed([tmp_path], topic="t", data_dir=tmp_path / "data", columns=columns, spark=SPARK)
    _, (first, second) = everything(tmp_path / "data", "t")
    assert (first["key"], second["key"]) == (b"1", b"2")
    assert json.loads(first["value"]) == rows[0]
    assert json.loads(second["value"]) == {**rows[1], "price": None}
    assert [int(row["timestamp"].timestamp()) for row in (first, second)] == [1, 2]
    assert first["headers"] == [
        {"key": "n", "value": 'Zoë "Z"\n'.encode()},
        {"key": "ok", "value": b"true"},
    ]
    assert second["headers"][0] == {"key": "n", "value": None}


def test_partitions_are_those_of_kafkas_producers() -> None:
    from kafka.partitioner.default import murmur2 as reference

    chance = random.Random(1)
    keys = [chance.randbytes(size) for size in [*range(20), *[7] * 50, 1000]]
    expected = [reference(key) & 0xFFFFFFFF for key in keys]
    assert murmur2(pa.array(keys)).tolist() == expected
    assert murmur2(pa.array([b"x", *keys]).slice(1)).tolist() == expected


def test_json_is_json() -> None:
    texts = ["plain", "\\", '"', "\x00\x1f", "ü€😀", "", None]
    table = pa.table({"t": texts, "i": [2**62, -1, 0, 1, 2, 3, None]})
    assert [json.loads(row) for row in json_objects(table, ["i", "t"]).to_pylist()] == [
        {"i": row["i"], "t": row["t"]} for row in table.to_pylist()
    ]
    with pytest.raises(PipelineError, match="no plain JSON form"):
        json_objects(pa.table({"l": [[b"bytes"]]}), ["l"])


class Sink(Delivery):
    """Delivers to nobody; remembers when each batch came. Its own clock and progress bar, too."""

    def __init__(self) -> None:
        self.now = 100.0
        self.sent: list[tuple[float, int, int]] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def begin(self, piece: Any) -> None: ...

    def end(self, piece: Any) -> None: ...

    def is_there(self, partition: int, record_count: int) -> bool:
        return False

    def append(self, partition: int, batch: bytearray, record_count: int) -> None:
        self.sent.append((self.now, partition, record_count))

    def update(self, rows: int) -> None: ...


def test_pace_follows_the_timestamps(tmp_path: Path) -> None:
    """At twice the pace, partitions side by side. A timestamp that goes back waits for nothing."""
    writer = PieceWriter(tmp_path)
    for partition, stamps in enumerate(([0, 10, 4000, 3000, 9000], [2000])):
        table = pa.table(
            {
                "key": pa.nulls(len(stamps), pa.binary()),
                "value": pa.array([b"v"] * len(stamps)),
                "timestamp": pa.array(stamps),
            }
        )
        for start, end in pace_windows(np.array(stamps), 2.0):
            writer.add(partition, table.slice(start, end - start))
    sink = Sink()
    pace = Pace(2.0, sink, now=lambda: sink.now, sleep=sink.sleep)
    pace.deliver(sink, writer.pieces())
    assert sink.sent == [(100.0, 0, 2), (101.0, 1, 1), (102.0, 0, 2), (104.5, 0, 1)]
    assert list(pace_windows(np.array([5, 1]), None)) == [(0, 2)]
    assert not any(tmp_path.iterdir())


def test_a_piece_keeps_the_order(tmp_path: Path) -> None:
    writer = PieceWriter(tmp_path)
    table = pa.table(
        {
            "key": pa.nulls(6, pa.binary()),
            "value": pa.array([b"%d" % i for i in range(6)]),
            "timestamp": pa.array([0] * 6),
        }
    )
    writer.add_all(table, np.array([2, 0, 2, 0, 2, 0]))
    found = {
        piece.partition: [
            record.value for batch in piece.batches() for record in iterate_records(batch)
        ]
        for piece in writer.pieces()
    }
    assert found == {0: [b"1", b"3", b"5"], 2: [b"0", b"2", b"4"]}
