"""Values of Python become those that verbs take."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from kafkalite.client.values import fields_of, new_record, read_seed, text_of, written
from kafkalite.control.answers import Header
from kafkalite.control.faults.rule import Rule
from kafkalite.control.questions import NewRecord


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (1, "1"), (-1, "-1"), (0.5, "0.5"), ("a,b", "a,b")],
)
def test_a_config_is_text_as_kafka_writes_it(value: object, text: str) -> None:
    assert text_of(value) == text


def test_fields_have_their_names_in_python() -> None:
    fields = fields_of(Rule(id="x", lasting="1m"))
    assert (fields["id"], fields["lasting"], fields["times"]) == ("x", "1m", 1)
    assert msgspec.structs.replace(Rule(), **fields) == Rule(id="x", lasting="1m")


def test_bytes_of_a_record_go_in_base_64() -> None:
    assert new_record(b"\x00\xff", "k", 2, {"h": "v"}, "-7d", 3) == NewRecord(
        value="AP8=",
        key="k",
        partition=2,
        all_headers=[Header("h", "v")],
        timestamp="-7d",
        key_encoding="utf-8",
        value_encoding="base64",
        count=3,
    )
    deleted = new_record(None, b"k", 0, [("h", b"\xff"), ("h", None)], None, 1)
    assert deleted.all_headers == [Header("h", "/w==", "base64"), Header("h", None)]
    assert (deleted.value, deleted.value_encoding) == (None, "utf-8")
    assert (deleted.key, deleted.key_encoding) == ("aw==", "base64")


SEED = {"topics": [{"name": "t", "records": [{"value": "1"}]}], "groups": []}


@pytest.mark.parametrize("name", ["seed.yaml", "seed.yml", "seed"])
def test_a_seed_is_yaml(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("topics:\n  - name: t\n    records: [{value: '1'}]\ngroups: []\n")
    assert read_seed(path) == SEED


def test_a_seed_may_be_json(tmp_path: Path) -> None:
    path = tmp_path / "seed.json"
    path.write_text(json.dumps(SEED))
    assert read_seed(path) == SEED
    with pytest.raises(OSError, match="none"):
        read_seed(tmp_path / "none.json")


def test_a_file_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"what was there before")
    assert written(path, b"new") == path
    assert path.read_bytes() == b"new"
