"""Requests of verbs: names in JSON, limits, and nothing that is unknown."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kafkalite.control import questions
from kafkalite.control.questions import (
    CreateCluster,
    NewRecord,
    QuietFor,
    ReadRecords,
    RebalanceGroup,
    ReleaseFault,
    Seed,
    SnapshotName,
    Until,
    Wait,
)


@pytest.mark.parametrize(
    "struct",
    [
        each
        for each in vars(questions).values()
        if isinstance(each, type)
        and issubclass(each, msgspec.Struct)
        and each.__module__ == questions.__name__
    ],
)
def test_an_unknown_field_is_refused(struct: type[msgspec.Struct]) -> None:
    with pytest.raises(msgspec.ValidationError, match="unknown field `no such field`"):
        msgspec.convert({"no such field": 1}, struct)


def test_words_of_python_have_their_names_in_json() -> None:
    until = msgspec.convert({"not": {"quiet": {"for": "2s"}}}, Until)
    assert until == Until(not_=Until(quiet=QuietFor("2s")))
    assert msgspec.to_builtins(until) == {"not": {"quiet": {"for": "2s"}}}


def test_a_wait_has_ten_seconds_unless_told() -> None:
    assert msgspec.convert({"until": {"topic": {"name": "t"}}}, Wait).timeout == "10s"


@pytest.mark.parametrize(
    ("struct", "fields"),
    [
        (Until, {"all": []}),
        (Until, {"any": []}),
        (ReadRecords, {"topic": "t", "count": -1}),
        (ReadRecords, {"topic": "t", "count": 100_001}),
        (NewRecord, {"count": 0}),
        (NewRecord, {"count": 100_001}),
        (NewRecord, {"value_encoding": "latin-1"}),
        (RebalanceGroup, {"group": "g", "times": 0}),
        (RebalanceGroup, {"group": "g", "times": 1001}),
        (CreateCluster, {"nodes": 0}),
        (CreateCluster, {"nodes": 33}),
        (ReleaseFault, {"fault": "f", "count": 0}),
        (Seed, {"topics": [{"partitions": 1}]}),
        (Seed, {"groups": [{"id": "g"}]}),
    ],
)
def test_limits_are_kept(struct: type[Any], fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(fields, struct)


@pytest.mark.parametrize("name", ["a", "orders-1", "v1.2_x", "0", "a" * 100])
def test_a_snapshot_has_the_name_of_a_file(name: str) -> None:
    assert msgspec.convert({"snapshot": name}, SnapshotName).snapshot == name


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a/b", "../a", "a b", "-a", "a" * 101])
def test_a_snapshot_is_in_no_other_directory(name: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"snapshot": name}, SnapshotName)
