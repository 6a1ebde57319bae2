"""Files as people have them: line breaks in quotes, nested rows, times as text; and places that
are none."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from kafkalite.spark.audit.auditing import audit
from kafkalite.spark.data_directory import Isolation
from kafkalite.spark.errors import SparkSourceError
from kafkalite.spark.pipelines import Columns, PipelineError, archive, archiving, jobs, replay, seed
from kafkalite.spark.pipelines.input_files import FilePart, find_files
from kafkalite.spark.pipelines.json_rows import json_values
from kafkalite.spark.pipelines.progress_file import ProgressFile
from kafkalite.spark.pipelines.stored import DirectoryReader
from tests.kafkalite.spark.local_spark import LocalFrame, LocalSpark

SPARK = LocalSpark()


def seeded(tmp_path: Path, *inputs: Path, **columns: Any) -> list[dict[str, Any]]:
    """The rows of a topic that is made of the inputs."""
    data_dir = tmp_path / "data"
    shutil.rmtree(data_dir, ignore_errors=True)
    seed(inputs, topic="t", data_dir=data_dir, columns=Columns(**columns), spark=SPARK)
    return read_back(data_dir)


def read_back(data_dir: Path) -> list[dict[str, Any]]:
    source = DirectoryReader((data_dir,))
    _, end = source.bounds("t", 0, Isolation.READ_UNCOMMITTED)
    batches = source.read("t", 0, 0, end, Isolation.READ_UNCOMMITTED)
    return [row for batch in batches for row in batch.to_pylist()]


def test_line_breaks_in_quotes_stay_in_their_row(tmp_path: Path) -> None:
    """Also in a file of several blocks, which Arrow cuts at line ends."""
    lines = [f"{i}: first\nsecond {'x' * (i % 97)}" for i in range(30_000)]
    path = tmp_path / "rows.csv"
    path.write_text("id,text\n" + "".join(f'{i},"{text}"\n' for i, text in enumerate(lines)))
    assert path.stat().st_size > 2 << 20
    rows = seeded(tmp_path, path)
    assert [json.loads(row["value"]) for row in rows] == [
        {"id": i, "text": text} for i, text in enumerate(lines)
    ]


def test_json_objects_of_many_lines(tmp_path: Path) -> None:
    objects = [{"id": i, "text": "x" * (i % 97)} for i in range(20_000)]
    path = tmp_path / "rows.json"
    path.write_text("\n".join(json.dumps(each, indent=2) for each in objects))
    assert [json.loads(row["value"]) for row in seeded(tmp_path, path)] == objects


def test_text_of_json_that_looks_like_a_time_stays(tmp_path: Path) -> None:
    row = {"at": "2024-01-01T10:00:00.5Z", "day": "2024-01-01", "in": {"list": ["2024-01-01"]}}
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    [found] = seeded(tmp_path, path, timestamp="at", key="day")
    assert (json.loads(found["value"]), found["key"]) == (row, b"2024-01-01")
    assert found["timestamp"].isoformat() == "2024-01-01T10:00:00.500000+00:00"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2024-01-01", "2024-01-01T00:00:00"),
        ("2024-03-31 02:30:00+02:00", "2024-03-31T00:30:00"),
        ("2024-03-31T02:30:00", "2024-03-31T02:30:00"),
    ],
)
def test_times_may_be_text(tmp_path: Path, text: str, at: str) -> None:
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(pa.table({"at": pa.array([text], pa.large_string())}), path)
    [found] = seeded(tmp_path, path, timestamp="at")
    assert found["timestamp"].isoformat() == f"{at}+00:00"


def test_a_text_that_is_no_time(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("at\n2024-01-01\nyesterday\n")
    with pytest.raises(
        PipelineError, match=r"^column 'at' has a text that is no time: .*yesterday"
    ):
        seeded(tmp_path, path, timestamp="at")


def test_a_column_that_holds_no_times() -> None:
    schema = pa.schema([("at", pa.bool_())])
    with pytest.raises(PipelineError, match=r"^f: column .at. is bool, no timestamp$"):
        Columns(timestamp="at").check(schema, "f")


@pytest.mark.parametrize(
    ("values", "kind", "told"),
    [
        ([[1, None], None, []], pa.list_(pa.int64()), ["[1,null]", "null", "[]"]),
        ([[1, 2], None], pa.list_(pa.int64(), 2), ["[1,2]", "null"]),
        ([[[1], None], []], pa.list_(pa.list_(pa.int64())), ["[[1],null]", "[]"]),
        (
            [{"a": 'x"', "b": {"c": [1]}}, None, {"a": None, "b": None}],
            pa.struct({"a": pa.string(), "b": pa.struct({"c": pa.list_(pa.int8())})}),
            ['{"a":"x\\"","b":{"c":[1]}}', "null", '{"a":null,"b":null}'],
        ),
        ([{}, None], pa.struct([]), ["{}", "null"]),
        ([[("k", 1), ("l", None)], None], pa.map_("string", "int8"), ['{"k":1,"l":null}', "null"]),
        ([[(1, ["x"])], []], pa.map_("int8", pa.list_(pa.string())), ['{"1":["x"]}', "{}"]),
        (["x", None], pa.string_view(), ['"x"', "null"]),
    ],
)
def test_nested_values_are_json(values: list[Any], kind: Any, told: list[str]) -> None:
    """Also those of a column in parts, and of a part that does not begin with its first row."""
    column = pa.array(values, kind)
    assert json_values(column, "c").to_pylist() == told
    assert json_values(column.slice(1), "c").to_pylist() == told[1:]
    assert json_values(pa.chunked_array([column, column]), "c").to_pylist() == told * 2


@pytest.mark.parametrize("kind", [pa.binary(1), pa.binary_view(), pa.string_view()])
def test_bytes_and_text_of_any_kind_are_as_they_are(tmp_path: Path, kind: Any) -> None:
    values = pa.array(["a", "b"] if kind == pa.string_view() else [b"a", b"b"], kind)
    columns = Columns(value="v", key="v")
    records, _ = columns.records(pa.table({"v": values}), 1, 0)
    assert records.column("key").to_pylist() == records.column("value").to_pylist() == [b"a", b"b"]


@pytest.mark.parametrize("name", ["rows.csv.gz", "rows.JSONL.GZ"])
def test_packed_files_are_found(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    text = b'{"a":1}\n' if "JSON" in name else b"a\n1\n"
    (folder / name.lower()).write_bytes(gzip.compress(text))
    (folder / "other.gz").write_bytes(b"")
    (folder / "rows.parquet.gz").write_bytes(b"")
    assert [row["value"] for row in seeded(tmp_path, folder)] == [b'{"a":1}']


def first_table_only(part: FilePart, tables: Any = FilePart.tables) -> Iterator[Any]:
    yield next(tables(part))
    raise RuntimeError("killed")


def written_in_part(_: Any, where: Any, **__: Any) -> None:
    Path(where).write_bytes(b"PAR1")
    raise RuntimeError("killed")


@contextmanager
def second_tries_that_die(patched: Any, name: str, by: Any) -> Iterator[None]:
    """Each task is tried again while its result is on the way."""

    def collect(frame: LocalFrame, once: Any = LocalFrame.collect) -> Any:
        found = once(frame)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(patched, name, by)
            with pytest.raises(RuntimeError, match="killed"):
                once(frame)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalFrame, "collect", collect)
        yield


def test_a_task_that_is_tried_twice_spoils_nothing(tmp_path: Path) -> None:
    """Spark does so when it speculates, or has lost sight of an executor."""
    path, data_dir, root = tmp_path / "rows.csv", tmp_path / "data", tmp_path / "archive"
    path.write_text("id\n" + "".join(f"{i}\n" for i in range(200_000)))
    with second_tries_that_die(FilePart, "tables", first_table_only):
        seed([path], topic="t", data_dir=data_dir, spark=SPARK)
    assert len(read_back(data_dir)) == 200_000
    with second_tries_that_die(pa.parquet, "write_table", written_in_part):
        archive(root, data_dir=data_dir, spark=SPARK)
    assert replay(root, topic="t", data_dir=tmp_path / "again", spark=SPARK).rows == 200_000
    assert not (root / archiving._STAGING).exists()


def test_nothing_is_written_beside_logs(tmp_path: Path) -> None:
    """A broker that finds other folders in its data directory does not start."""
    data_dir = tmp_path / "data"
    seed(generate=10, topic="t", data_dir=data_dir, columns=Columns(value="value"), spark=SPARK)
    before = sorted(data_dir.rglob("*"))
    told = f"is in {data_dir}, a broker's data directory: name another"
    for place in (data_dir, data_dir / "archive", data_dir / "a" / "b"):
        with pytest.raises(PipelineError, match=told):
            archive(place, data_dir=data_dir, spark=SPARK)
        with pytest.raises(PipelineError, match=told):
            audit(data_dir, report_dir=place, spark=SPARK)
    assert sorted(data_dir.rglob("*")) == before


def test_places_elsewhere_are_refused_and_uris_of_files_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written to a folder named "s3:" here."""
    monkeypatch.chdir(tmp_path)
    made = {"generate": 10, "topic": "t", "columns": Columns(value="value"), "spark": SPARK}
    uri = (tmp_path / "with blank").as_uri()
    seed(**made, data_dir=f"{uri}/data")
    assert archive(f"{uri}/archive", data_dir=f"{uri}/data", spark=SPARK).rows == 10
    audit(f"{uri}/data", report_dir=f"{uri}/report", spark=SPARK)
    seed([f"{uri}/archive/topic=t"], **{**made, "generate": 0}, data_dir=f"{uri}/third")
    replayed = replay(f"{uri}/archive", topic="t", data_dir=f"{uri}/fourth", spark=SPARK)
    assert replayed.rows == 10
    elsewhere = "s3://bucket/place"
    for call in (
        lambda: seed(**made, data_dir=elsewhere),
        lambda: seed([elsewhere], **{**made, "generate": 0}, data_dir="data"),
        lambda: archive(elsewhere, data_dir=f"{uri}/data", spark=SPARK),
        lambda: archive("archive", data_dir=elsewhere, spark=SPARK),
        lambda: audit(elsewhere, spark=SPARK),
        lambda: audit(f"{uri}/data", report_dir=elsewhere, spark=SPARK),
        lambda: replay(elsewhere, topic="t", data_dir="data", spark=SPARK),
        lambda: replay(f"{uri}/archive", topic="t", data_dir=elsewhere, spark=SPARK),
    ):
        with pytest.raises((PipelineError, SparkSourceError), match="s3://bucket/place is no path"):
            call()
    assert [path.name for path in tmp_path.iterdir()] == ["with blank"]


def test_relative_paths_are_those_of_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An executor has a working directory of its own."""
    (tmp_path / "rows.csv").write_text("a\n1\n")
    monkeypatch.chdir(tmp_path)
    (found, _), *_ = find_files(["rows.csv"])
    assert found == str(tmp_path / "rows.csv")


@pytest.mark.parametrize(
    "said",
    [
        "An error occurred while calling o1.x.\n: java.lang.Exception: gist\n\tat a.B.c(D.scala:1)",
        "x\n\tat a.B$.<init>(D.java)\nCaused by: gist\n\tat java.base/a.b(C.java)\n\t... 9 more",
        "Traceback\n  File x\ngist\n\nJVM stacktrace:\norg.apache.Exception\n\tat a.b(C.java)",
    ],
)
def test_the_gist_of_a_java_error_is_no_line_of_its_trace(said: str) -> None:
    with pytest.raises(
        PipelineError, match=r"^a Spark task failed: (java\.lang\.Exception: )?gist$"
    ):
        list(jobs.run_parts(Refusing(said), str, [1]))


class Refusing(LocalSpark):
    """Every job of it fails."""

    def __init__(self, said: str) -> None:
        self._said = said

    def range(self, *_: int) -> LocalFrame:
        raise RuntimeError(self._said)


def test_an_archive_that_cannot_be_written_to_is_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file of an appending replay is nobody's business without one."""
    data_dir, root = tmp_path / "data", tmp_path / "archive"
    seed(generate=10, topic="t", data_dir=data_dir, columns=Columns(value="value"), spark=SPARK)
    archive(root, data_dir=data_dir, spark=SPARK)

    def refused(_: ProgressFile) -> None:
        raise OSError("read-only")

    monkeypatch.setattr(ProgressFile, "end", refused)
    assert replay(root, topic="t", data_dir=tmp_path / "again", spark=SPARK).rows == 10


def test_an_append_does_not_go_on_into_more_partitions(tmp_path: Path) -> None:
    progress = ProgressFile(tmp_path, "t", "t", "here")
    assert progress.begin([1, 2]) == progress.begin([3, 4]) == [1, 2]
    with pytest.raises(PipelineError, match="it has 3 partitions, and had 2; remove"):
        progress.begin([1, 2, 0])
