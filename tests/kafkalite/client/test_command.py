"""The verbs on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from kafkalite.client.command import main, print_answer


def kafkalite(path: Path, *arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-m", "kafkalite", *arguments, "--ready-file", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_a_session(ready: Path, tmp_path: Path) -> None:
    def ran(*arguments: str) -> str:
        code, out, error = kafkalite(ready, *arguments)
        assert code == 0, error
        return out

    seed = tmp_path / "seed.yaml"
    seed.write_text(
        "topics: [{name: orders, partitions: 2, records: [{key: a, value: '1', count: 3}]}]\n"
        "groups: [{id: billing, offsets: {orders: {0: 2}}}]\n"
    )
    assert "records: 3" in ran("seed", str(seed))
    assert "orders" in ran("topics", "list")
    made = ran("topics", "create", "t", "--partitions", "3", "--configs", "retention.ms=5000")
    assert "t" in made
    assert json.loads(ran("topics", "show", "t", "--json"))["configs"] == {"retention.ms": "5000"}
    assert ran("records", "read", "orders", "--count", "1").splitlines()[1].split()[:2] == [
        "0",
        "0",
    ]
    assert "offset: 2" in ran("groups", "committed", "billing", "orders")
    assert "met: true" in ran("wait", "records", "orders", "--at-least", "3")
    added = ran(
        "faults", "add", "--api", "Produce", "--topic", "orders", "--drop", "after", "--json"
    )
    rule = json.loads(added)["rule"]
    assert rule["do"] == [{"drop": "after"}]
    assert ran("faults", "list").splitlines()[1].split()[0] == rule["id"]
    ran("faults", "clear")
    assert "fired: []" in ran("clock", "advance", "46s")
    assert "topics: 2" in ran("reset")
    assert "mode: on" in ran("spy", "set", "on")
    assert "cluster.reset" in ran("events", "--kind", "cluster.*")
    assert ran("export", str(tmp_path / "data.tar")).strip() == str(tmp_path / "data.tar")
    assert "snapshot: brought" in ran("snapshots", "import", "brought", str(tmp_path / "data.tar"))
    ran("snapshots", "export", "brought", str(tmp_path / "again.tar"))
    assert tarfile.is_tarfile(tmp_path / "again.tar")
    followed = ran("stream", "--what", "events", "--after", "0-0", "--limit", "2").splitlines()
    assert [set(json.loads(line)) >= {"id", "event"} for line in followed] == [True, True]
    assert ran("requests", "list", "--api", "Produce") == ""
    assert ran("trace", "save", str(tmp_path / "trace.zip")).strip() == str(tmp_path / "trace.zip")
    assert zipfile.is_zipfile(tmp_path / "trace.zip")
    ran("topics", "create", "odd")
    ran(
        "records", "write", "odd", "--records", json.dumps({"value": "\x1b[31m\n", "key": "\u202e"})
    )
    shown = ran("records", "read", "odd").splitlines()[1].split()
    assert shown[3:5] == ["\\x202e", "\\x1b[31m\\n"]
    assert "skew_ms: -3600000" in ran("clock", "skew", "-1h")
    assert "name: mine" in ran("clusters", "create", "--name", "mine", "--nodes", "2")
    assert len(ran("nodes", "list", "-c", "mine").splitlines()) == 3
    ran("clusters", "delete", "mine")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("wait", "records", "none", "--timeout", "10ms"), 1, "topic none does not exist"),
        (("topics", "show", "none"), 1, "there is no topic 'none'"),
        (("topics", "sow"), 2, "invalid choice"),
        (("topics", "create"), 2, "required"),
        (("faults", "add", "--api", "Produce"), 2, "needs either"),
        (("faults", "add", "--api", "Produse", "--drop", "after"), 2, "no API 'Produse'"),
        (("clock", "advance", "soon"), 2, "not a duration"),
        (("records", "read", "t", "--count", "many"), 2, "count is 'many': expected int"),
        (("spy", "set", "loud"), 2, "mode is 'loud': it is off or on or full"),
        (("seed", "/no/file"), 2, "/no/file cannot be read: No such file or directory"),
        (("snapshots", "import", "s", "/no/file"), 2, "/no/file cannot be read: No such file"),
        (("snapshots", "export", "none", "none.tar"), 1, "no snapshot 'none'"),
        (("export", "/no/file"), 2, "/no/file cannot be written: No such file or directory"),
        (("trace", "save", "/proc"), 2, "/proc cannot be written: Is a directory"),
        (("export", "/dev/full"), 1, "/dev/full cannot be written: No space left on device"),
        (("reset", "--token", "a\nb"), 2, "the token has characters"),
        (("seed", "/dev/null"), 2, "/dev/null: Expected `object`, got `null`"),
        (("seed", __file__), 2, "test_command.py: expected"),
        (("clock", "skew", "-1w"), 2, "by is '-1w', which is not a duration"),
    ],
)
def test_what_goes_wrong(
    ready: Path,
    arguments: tuple[str, ...],
    code: int,
    message: str,
) -> None:
    found, out, error = kafkalite(ready, *arguments)
    assert found == code
    assert message in out + error
    assert error.count("\n") == (0 if out else 1)


@pytest.mark.slow
def test_without_a_broker_it_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kafkalite", "reset"],
        capture_output=True,
        text=True,
        check=False,
        env={},
    )
    assert done.returncode == 2
    assert "where is the broker?" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("reset",), ("Begin again with nothing", "A snapshot to begin with (`to`)", "--to TO")),
        (("clusters",), ("A cluster of its own, on ports of its own.",)),
        (("clusters", "create"), ("--from FROM\n", "default: 1")),
        (("wait",), ("A group with so many members",)),
        (("wait", "records"), ("So many records in a topic", "default: 1")),
    ],
)
def test_help_says_what_a_verb_does(
    arguments: tuple[str, ...], words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert [each for each in words if each not in shown] == []


def test_a_table_has_the_columns_in_which_something_is(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer([{"a": 1, "b": None, "c": None}, {"a": 2, "b": None, "c": 0}], as_json=False)
    assert capsys.readouterr().out == "a  c\n1  -\n2  0\n"


def test_a_list_of_nothing_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    print_answer([], as_json=False)
    assert capsys.readouterr() == ("", "there are none\n")
    print_answer([], as_json=True)
    assert capsys.readouterr() == ("[]\n", "")
