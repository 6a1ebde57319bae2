"""`kafkalite pipeline`: what is wrong is one sentence and exit code 2, and nothing is
half-written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from kafkalite.__main__ import main
from kafkalite.testing import broker as test_broker
from tests.kafkalite.spark.sound_directory import append, records


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """Run a pipeline in vain; the sentence."""
    try:
        code: object = main(["pipeline", *map(str, arguments), "--quiet"])
    except SystemExit as stopped:
        code = stopped.code
    output = capsys.readouterr()
    assert code == 2
    assert output.out == ""
    (line,) = output.err.splitlines()
    assert line.startswith("kafkalite: ")
    return line


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    pa.parquet.write_table(pa.table({"name": ["a", "b"], "number": [1, 2]}), path)
    return path


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """With a topic `full` that has records."""
    with test_broker(data_dir=tmp_path / "data") as broker:
        broker.create_topic("full")
        append(broker, "full", records(3))
    return tmp_path / "data"


def listed(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (["--key", "nome"], "no column 'nome'; it has name, number"),
        (["--value", "name,size"], "'size'"),
        (["--partition", "name"], "'name' is string, no partition"),
        (["--header", "*=number"], "not a list of structs"),
        (["--partitions", "0"], "0 partitions"),
        (["--topic", "__consumer_offsets"], "__consumer_offsets is the broker's own"),
        (["--timestamp-ms", str(10**16)], f"{10**16} is too far: milliseconds since 1970"),
        (["--header", "number"], "NAME=VALUE"),
        (["--compression", "rar"], "rar"),
        (["--generate", "5"], "either files"),
        (["--generate", "-5"], "-5 is no number of records"),
    ],
)
def test_seed_refuses_what_does_not_fit(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, table: Path, flags: list[str], named: str
) -> None:
    target = tmp_path / "new"
    assert named in refused(capsys, "seed", table, "--topic", "t", "--data-dir", target, *flags)
    assert not target.exists()


def test_seed_refuses_files_that_are_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, table: Path
) -> None:
    to = ["--topic", "t", "--data-dir", tmp_path / "new"]
    truncated = tmp_path / "truncated.parquet"
    truncated.write_bytes(table.read_bytes()[:-20])
    assert "truncated.parquet cannot be read as parquet" in refused(capsys, "seed", truncated, *to)
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n3\n")
    assert "bad.csv cannot be read as csv" in refused(capsys, "seed", tmp_path / "bad.csv", *to)
    (tmp_path / "bad.json").write_text("{]\n")
    assert "bad.json cannot be read as json" in refused(capsys, "seed", tmp_path / "bad.json", *to)
    (tmp_path / "twice.csv").write_text("a,b,a\n1,2,3\n")
    assert "several columns named 'a'" in refused(capsys, "seed", tmp_path / "twice.csv", *to)
    assert "no file" in refused(capsys, "seed", tmp_path / "missing.csv", *to)
    (tmp_path / "empty").mkdir()
    assert "no Parquet, CSV or JSON" in refused(capsys, "seed", tmp_path / "empty", *to)
    (tmp_path / "rows.txt").write_text("a")
    assert "--format" in refused(capsys, "seed", tmp_path / "rows.txt", *to)
    assert not (tmp_path / "new").exists()


def test_seed_refuses_a_topic_that_is_not_empty(
    capsys: pytest.CaptureFixture[str], data_dir: Path, table: Path
) -> None:
    before = (data_dir / "full-0" / f"{0:020d}.log").read_bytes()
    line = refused(capsys, "seed", table, "--topic", "full", "--data-dir", data_dir)
    assert "topic full is not empty" in line
    line = refused(
        capsys, "seed", table, "--topic", "full", "--data-dir", data_dir, "--partitions", "3"
    )
    assert "has 1 partitions, not 3" in line
    line = refused(capsys, "seed", table, "--topic", "a/b", "--data-dir", data_dir)
    assert "a/b" in line
    assert (data_dir / "full-0" / f"{0:020d}.log").read_bytes() == before


def test_a_running_broker_keeps_its_directory(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, table: Path
) -> None:
    with test_broker(data_dir=tmp_path / "data"):
        line = refused(capsys, "seed", table, "--topic", "t", "--data-dir", tmp_path / "data")
    assert "in use by a broker" in line


def test_what_is_no_data_directory(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, table: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "letter.txt").write_text("Dear log,")
    for arguments in (
        ["audit", other],
        ["audit", tmp_path / "missing"],
        ["archive", tmp_path / "archive", "--data-dir", other],
        ["seed", table, "--topic", "t", "--data-dir", other],
        ["seed", table, "--topic", "t", "--data-dir", table],
    ):
        assert "director" in refused(capsys, *arguments)
    assert listed(other) == {"letter.txt"}
    assert not (tmp_path / "archive").exists()


def test_a_folder_with_a_number_is_not_archived(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "reports" / "report-2024").mkdir(parents=True)
    arguments = ["archive", tmp_path / "archive", "--data-dir", tmp_path / "reports"]
    assert "no data directory" in refused(capsys, *arguments)
    assert not (tmp_path / "archive").exists()


def test_archive_and_replay_refuse(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, data_dir: Path
) -> None:
    root = tmp_path / "archive"
    assert "no topic 'nope'" in refused(
        capsys, "archive", root, "--data-dir", data_dir, "--topic", "nope"
    )
    assert "no archive" in refused(
        capsys, "replay", tmp_path, "--topic", "t", "--data-dir", tmp_path / "new"
    )
    assert "director" in refused(capsys, "archive", root, "--data-dir", tmp_path / "missing")
    assert not (tmp_path / "new").exists()


def test_prove_refuses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("data")
    assert "holds no proof" in refused(capsys, "prove", tmp_path)
    assert "100 records for each" in refused(capsys, "prove", tmp_path / "p", "--records", "10")
    assert listed(tmp_path) == {"precious"}


@pytest.mark.parametrize(
    "arguments",
    [[], ["polish"], ["seed", "--topic", "t"], ["audit", "x", "--frob"], ["seed", "--top", "t"]],
)
def test_mistyped_flags(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    refused(capsys, *arguments)
