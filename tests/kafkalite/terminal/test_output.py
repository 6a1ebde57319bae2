"""Tables for people, JSON for programs."""

from __future__ import annotations

import json

import pytest

import kafkalite.testing
from kafkalite.terminal.output import Output, safe
from tests.kafkalite.terminal.conftest import OnTerminal, Run

ROWS = [
    {"name": "a" * 200, "count": 7, "is_odd": True, "none": None, "list": [1, 2], "more": "x"},
    {"name": "b [bold] :smile:", "count": 100, "is_odd": False, "none": None, "list": []},
]
COLUMNS = {
    "name": "NAME",
    "count": "COUNT",
    "is_odd": "ODD",
    "none": "NONE",
    "list": "LIST",
}


def test_a_table_is_not_cut_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=False).rows(ROWS, COLUMNS)
    head, first, second = capsys.readouterr().out.splitlines()
    assert head.split() == ["NAME", "COUNT", "ODD", "NONE", "LIST"]
    assert first.split() == ["a" * 200, "7", "yes", "-", "1,2"]
    assert second.split() == ["b", "[bold]", ":smile:", "100", "no", "-"]
    assert first.index("7") == second.index("100") + 2, "numbers stand at the right"


def test_json_has_all_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output(as_json=True)
    out.rows(ROWS, COLUMNS)
    assert json.loads(capsys.readouterr().out) == ROWS
    out.line({"a": 1}, "text")
    assert capsys.readouterr().out == '{"a": 1}\n'


def test_what_is_watched_is_one_line_of_json_each_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Output(as_json=True).watched(COLUMNS) as show:
        show(ROWS)
        show([])
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [ROWS, []]
    with Output(as_json=False).watched(COLUMNS) as show:
        show(ROWS)
        show(ROWS)
    assert len(capsys.readouterr().out.splitlines()) == 6


def test_facts_and_notes(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output(as_json=False)
    out.facts({"a": 1, "longer": None})
    out.note("so it is")
    captured = capsys.readouterr()
    assert captured.out == "a       1\nlonger  -\n"
    assert captured.err == "so it is\n"


def test_nothing_of_a_bar_goes_to_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(Output(as_json=False).track([1, 2, 3], "things")) == [1, 2, 3]
    assert capsys.readouterr() == ("", "")


def test_long_work_has_a_bar_on_a_terminal(on_terminal: OnTerminal) -> None:
    shown = on_terminal(lambda: list(Output(as_json=False).track([1, 2], "things")))
    assert "things" in shown
    assert "100%" in shown


@pytest.mark.parametrize(
    ("words", "bar"),
    [
        (("tail", "long-work", "-n", "all"), "records"),
        (("produce", "long-work"), "records"),
        (("topics",), "offsets"),
        (("configs",), "configs"),
        (("lag",), "groups"),
    ],
)
def test_each_word_that_may_take_long_has_one(
    run: Run,
    kafka: kafkalite.testing.broker,
    on_terminal: OnTerminal,
    words: tuple[str, ...],
    bar: str,
) -> None:
    topics = [{"name": "long-work", "records": [{"value": "v", "count": 3}]}]
    groups = [{"id": "long-work", "offsets": {"long-work": {0: 1}}}]
    kafka.seed({"topics": topics, "groups": groups})
    assert bar in on_terminal(lambda: run(*words, given="a\n"))
    kafka.delete_topic("long-work")


def test_text_cannot_steer_the_terminal() -> None:
    assert safe("a\x1b[31mb\nc\td\x00\x9b") == "a\\x1b[31mb\\nc\\td\\x00\\x9b"
    assert safe("grün ✓ 日本") == "grün ✓ 日本"
