"""Long answers as JSON are what short ones are, and take many steps."""

from __future__ import annotations

from collections.abc import Generator

import msgspec
import pytest
from msgspec import Struct

from kafkalite.control.answers import Place, Written
from kafkalite.control.encoding import encoded
from kafkalite.requests.slices import AT_ONCE, at_once


class Answer(Struct, rename={"from_": "from"}):
    from_: list[int]
    few: list[str]
    name: str


PLACES = [Place(0, offset) for offset in range(10 * AT_ONCE)]


@pytest.mark.parametrize(
    "answer",
    [[], [1, 2], PLACES, Written([]), Written(PLACES), Answer(list(range(2000)), ["ü"], '"'), None],
)
def test_an_answer_is_encoded(answer: object) -> None:
    assert at_once(encoded(answer)) == msgspec.json.encode(answer)


@pytest.mark.parametrize("answer", [PLACES, Written(PLACES)])
def test_a_long_answer_takes_many_steps(answer: object) -> None:
    steps: Generator[None, None, bytes] = encoded(answer)
    assert sum(1 for _ in steps) >= 10
