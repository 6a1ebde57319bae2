"""Answers go through JSON and come back equal."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import msgspec
import pytest

from kafkalite.control.answers import Advanced, Due, PartitionView, TopicView, Waited
from kafkalite.control.verbs import VERBS
from tests.each import for_each


def partition(index: int, start: int, end: int) -> PartitionView:
    return PartitionView(index, 1, 0, [1], [1], start, end, end, 100)


def test_the_records_of_a_topic_are_those_between_start_and_end() -> None:
    topic = TopicView("t", UUID(int=1), False, {}, [partition(0, 3, 10), partition(1, 0, 0)])
    assert topic.records == 7
    assert TopicView("t", UUID(int=1), False, {}, []).records == 0


@pytest.mark.parametrize(
    "answer",
    [
        TopicView("t", UUID(int=1), False, {"retention.ms": "1"}, [partition(0, 3, 10)]),
        Advanced(from_ms=1, now_ms=2, aborted=["x"], fired=[Due(1, "it")], next_due=Due(3, "next")),
        Waited(met=False, took_ms=3, because="nothing came"),
    ],
)
def test_an_answer_is_the_same_after_json(answer: Any) -> None:
    assert msgspec.json.decode(msgspec.json.encode(answer), type=type(answer)) == answer


def test_jumps_share_no_lists() -> None:
    first, second = Advanced(from_ms=0), Advanced(from_ms=0)
    first.aborted.append("x")
    assert second.aborted == []


@for_each(VERBS)
def test_every_answer_has_a_schema(name: str) -> None:
    assert msgspec.json.schema(VERBS[name].answer)
