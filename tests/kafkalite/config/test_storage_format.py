"""`kafkalite format` makes directories that a broker of a cluster, and Apache Kafka, take."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkalite.config.storage_format import NotFormatted, format_directory, main
from kafkalite.log.files import FILES
from kafkalite.log.meta_properties import read_meta_properties


def test_every_directory_gets_an_id_of_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directories = [tmp_path / "a", tmp_path / "b"]
    dirs = ",".join(map(str, directories))
    assert main(["-t", "cluster", "--set", f"log.dirs={dirs}", "--set", "node.id=7"]) == 0
    found = [read_meta_properties(each, FILES) for each in directories]
    assert [each and each[:2] for each in found] == [("cluster", 7)] * 2
    assert len({each and each.directory_id for each in found}) == 2
    assert capsys.readouterr().out.count("Formatted") == 2


def test_a_second_time_is_an_error_unless_it_is_the_same_and_meant(tmp_path: Path) -> None:
    assert format_directory(tmp_path, "cluster", 1, ignore_formatted=False)
    with pytest.raises(NotFormatted, match="already"):
        format_directory(tmp_path, "cluster", 1, ignore_formatted=False)
    assert not format_directory(tmp_path, "cluster", 1, ignore_formatted=True)
    with pytest.raises(NotFormatted, match="node 1 of cluster cluster, not to node 2"):
        format_directory(tmp_path, "cluster", 2, ignore_formatted=True)


def test_what_is_wrong_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    format_directory(tmp_path, "other", 1, ignore_formatted=False)
    assert main(["-t", "cluster", "--set", f"log.dirs={tmp_path}"]) == 2
    assert capsys.readouterr().err.startswith("kafkalite format: ")


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotFormatted, match=r"file/data cannot be formatted: Not a directory"):
        format_directory(tmp_path / "file" / "data", "cluster", 1, ignore_formatted=False)
