"""Regular expressions: each name is looked at once, and many of them by a thread."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkalite.group_coordinator import expressions
from kafkalite.group_coordinator.expressions import (
    Expression,
    compile_expression,
    has_looked_at,
    look_at,
)
from kafkalite.wire.errors import ErrorCode, KafkaError

NAMES = [f"topic-{number}" for number in range(100)]


@pytest.fixture(autouse=True)
def _nothing_is_kept() -> Iterator[None]:
    expressions._kept.clear()
    yield
    expressions._kept.clear()


def test_the_whole_name_matches() -> None:
    matches = compile_expression("topic-[0-9]")
    assert [name for name in NAMES if matches(name)] == NAMES[:10]
    assert not compile_expression("")("")


@pytest.mark.parametrize("expression", [r"a\C", r"(?P<n>a)(?P<n>b)", r"(?<n>a)(?P<n>b)"])
def test_what_java_s_re2_refuses_is_refused(expression: str) -> None:
    with pytest.raises(KafkaError) as refused:
        compile_expression(expression)
    assert refused.value.code == ErrorCode.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        (r"\é", "é"),
        (r"[\é-\ü]", "ê"),
        (r"\Q\C\E", r"\C"),
        (r"[(?P<n>]+(?P<n>a)", "<na"),
        (r"[[:alpha:](?P<n>]+(?P<n>a)(?P<m>b)", "x<nab"),
        (r"\\C", r"\C"),
    ],
)
def test_what_java_s_re2_takes_is_taken(expression: str, name: str) -> None:
    assert compile_expression(expression)(name)


def test_a_name_is_looked_at_once() -> None:
    seen: list[str] = []

    def matches(name: str) -> bool:
        seen.append(name)
        return name == "a"

    expression = Expression(matches)
    assert [expression("a"), expression("b"), expression("a")] == [True, False, True]
    assert seen == ["a", "b"]


def test_few_new_names_are_known() -> None:
    assert not has_looked_at("topic.*", NAMES)
    look_at("topic.*", NAMES[:50])
    assert not has_looked_at("topic.*", NAMES)
    look_at("topic.*", NAMES[:80])
    assert has_looked_at("topic.*", NAMES)
    assert not has_looked_at("topic", [])


def test_what_is_wrong_is_found_once_and_said_again(monkeypatch: pytest.MonkeyPatch) -> None:
    look_at("(", NAMES)
    assert has_looked_at("(", NAMES)
    monkeypatch.setattr(expressions, "_compiled", None)
    for _ in range(2):
        with pytest.raises(KafkaError, match=r"SubscribedTopicRegex `\(` is not") as refused:
            compile_expression("(")
        assert refused.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_hundred_expressions_are_kept() -> None:
    for number in range(100):
        look_at(f"topic-{number}.*", NAMES)
    assert all(has_looked_at(f"topic-{number}.*", NAMES) for number in range(100))


def test_neither_expressions_nor_names_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(2000):
        compile_expression(f"topic-{number}")
    assert len(expressions._kept) <= 1024
    monkeypatch.setattr(expressions, "_MOST_RESULTS", 450)
    for number in range(10):
        look_at(f"name-{number}", NAMES)
        assert has_looked_at(f"name-{number}", NAMES)
        kept = [each for each in expressions._kept.values() if isinstance(each, Expression)]
        assert sum(each.result_count for each in kept) <= 500
    monkeypatch.setattr(expressions, "_MOST_NAMES", 10)
    matches = compile_expression(".*")
    assert all(map(matches, NAMES))
    assert len(matches._results) <= 10
