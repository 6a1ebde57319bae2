"""A criterion holds for the values that it spells out, and for no others."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.control.faults.criteria import predicate
from kafkalite.control.problems import Problem


@pytest.mark.parametrize(
    ("written", "holds", "fails"),
    [
        ("a", ["a"], ["b", "A", None, 1]),
        (1, [1], ["1", 2, True]),
        (True, [True], [1, "True", False]),
        (None, [None], ["", 0, False]),
        (["a", {"min": 3}], ["a", 3], ["b", 2]),
        (("a", "b"), ["a", "b"], ["c"]),
        ([], [], ["a", None]),
        ("orders-*", ["orders-", "orders-1"], ["orders", "my-orders-1", None, 5]),
        ("v?", ["v1"], ["v", "v12"]),
        ("[ab]", ["a", "b"], ["c", "[ab]"]),
        ({"re": r"\d+"}, ["x12"], ["x", None, 12]),
        ({"re": r"^\d+$"}, ["12"], ["x12"]),
        ({"min": 2, "max": 4}, [2, 3.5, 4], [1, 5, "3", True, None]),
        ({"min": 2}, [2, 1000], [1]),
        ({"max": 2}, [2, -1000], [3]),
        ({"not": "a"}, ["b", None], ["a"]),
        ({"not": ["a", "b*"]}, ["c"], ["a", "bc"]),
    ],
)
def test_what_a_criterion_means(written: object, holds: list[Any], fails: list[Any]) -> None:
    test = predicate(written, field="topic")
    assert [each for each in holds if not test(each)] == []
    assert [each for each in fails if test(each)] == []


@pytest.mark.parametrize(
    "written",
    [
        {"like": "x"},
        {},
        {"re": "x", "not": "y"},
        {"min": "a"},
        {"max": True},
        {"re": "("},
        ["a", {"like": "x"}],
        {"not": {"like": "x"}},
        object(),
    ],
)
def test_what_means_nothing_is_refused_by_its_field(written: object) -> None:
    with pytest.raises(Problem, match=r"^group") as caught:
        predicate(written, field="group")
    assert caught.value.code == "invalid_match"


def test_a_wrong_expression_is_told_once(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Problem, match="missing"):
        predicate({"re": "("}, field="topic")
    assert "Error parsing" not in capfd.readouterr().err
