"""Responses about committed offsets: what is not there comes first, and each topic once."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.requests.refused_first import is_any_refused, refused_first
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import ErrorCode
from tests.freed_in_steps import most_freed

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
TOO_LARGE = ErrorCode.OFFSET_METADATA_TOO_LARGE


def test_what_is_not_there_comes_first() -> None:
    """Then the rest, each topic behind its refused partitions, also where it is named again."""
    answered = [
        ("b", [(0, 0), (7, UNKNOWN)]),
        ("missing", [(0, UNKNOWN)]),
        ("a", [(0, 0)]),
        ("b", [(1, TOO_LARGE)]),
        ("empty", []),
        ("missing", [(1, UNKNOWN)]),
        ("a", [(1, 0), (8, UNKNOWN)]),
        ("c", [(0, 0)]),
        ("c", [(1, 0)]),
    ]
    assert at_once(refused_first(answered)) == [
        ("b", [(7, UNKNOWN), (0, 0), (1, TOO_LARGE)]),
        ("missing", [(0, UNKNOWN), (1, UNKNOWN)]),
        ("empty", []),
        ("a", [(8, UNKNOWN), (0, 0), (1, 0)]),
        ("c", [(0, 0), (1, 0)]),
    ]


def test_topics_of_different_ids_are_not_the_same() -> None:
    one, other = UUID(int=1), UUID(int=2)
    answered = [("", one, [(0, UNKNOWN)]), ("", other, [(0, UNKNOWN)]), ("", one, [(1, UNKNOWN)])]
    assert at_once(refused_first(answered)) == [
        ("", one, [(0, UNKNOWN), (1, UNKNOWN)]),
        ("", other, [(0, UNKNOWN)]),
    ]


@pytest.mark.parametrize("code", [ErrorCode.NONE, TOO_LARGE, ErrorCode.ILLEGAL_GENERATION])
def test_without_anything_that_is_not_there_topics_stay_as_they_are(code: ErrorCode) -> None:
    answered = [("a", [(0, code)]), ("b", [(0, 0)]), ("a", [(0, code)])]
    assert not is_any_refused(answered)
    assert at_once(refused_first(answered)) is answered


@pytest.mark.parametrize("topic", [("a", []), ("a", [(0, 0), (1, UNKNOWN)])])
def test_a_topic_or_a_partition_may_not_be_there(topic: tuple[str, list[tuple[int, int]]]) -> None:
    assert is_any_refused([("b", [(0, 0)]), topic])


def test_very_many_topics_are_freed_little_by_little() -> None:
    unknown = [("", UUID(int=number), [(0, UNKNOWN)]) for number in range(4000)]
    there = [("", UUID(int=number), [(0, 0)]) for number in range(4000, 8000)]
    assert most_freed(refused_first([*unknown, *there])) < 2500


def test_very_many_partitions_take_many_steps() -> None:
    outcomes = [(index, UNKNOWN if index % 2 else 0) for index in range(10_000)]
    assert len(list(refused_first([("a", outcomes)]))) > 30
