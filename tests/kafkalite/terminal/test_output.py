"""Tables for people, JSON for programs."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

import kafkalite.testing
from kafkalite.terminal.output import Output, fitted
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


PARTITIONS = [
    {"topic": "orders", "committed": 47_449, "end": 47_465, "lag": 16, "member": f"app-{'0' * 36}"},
    {"topic": "orders", "committed": None, "end": 9, "lag": None, "member": None},
]
HEADINGS = {
    "topic": "TOPIC",
    "committed": "CURRENT-OFFSET",
    "end": "LOG-END-OFFSET",
    "lag": "LAG",
    "member": "MEMBER-ID",
}


def shown_at(width: int) -> list[str]:
    """The lines of a table on a terminal of this width."""
    table = fitted(PARTITIONS, HEADINGS, width)
    assert table is not None
    console = Console(width=width, file=io.StringIO())
    with console.capture() as printed:
        console.print(table)
    return [line.rstrip() for line in printed.get().splitlines()]


def test_on_a_terminal_headings_are_broken_and_text_is_cut_and_numbers_are_whole() -> None:
    head, first, _ = shown_at(90)
    assert head.split() == [*HEADINGS.values()]
    assert first.split() == ["orders", "47449", "47465", "16", f"app-{'0' * 36}"]
    above, head, first, second = shown_at(60)
    assert (above.split(), head.split()) == (
        ["CURRENT-", "LOG-END-"],
        ["TOPIC", "OFFSET", "OFFSET", "LAG", "MEMBER-ID"],
    )
    assert first.split() == ["orders", "47449", "47465", "16", f"app-{'0' * 22}…"]
    assert second.split() == ["orders", "-", "9", "-", "-"]
    assert max(map(len, shown_at(45))) == 45
    assert fitted(PARTITIONS, HEADINGS, 40) is None, "then the terminal breaks the lines"


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


def test_an_empty_list_is_told(run: Run, topic: str) -> None:
    with kafkalite.testing.broker() as empty:
        for word in ("topics", "groups", "lag"):
            ran = run(word, "-b", empty.bootstrap)
            assert (ran.code, len(ran.lines)) == (0, 1)
            assert ran.error.startswith("there are no ")
            assert ran.error.count("\n") == 1
            assert run(word, "-b", empty.bootstrap, "--json").json == []
    ran = run("configs", "--topic", topic)
    assert ran.error == "nothing is set: --all shows the defaults\n"


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
