"""The words of the terminal beside the verbs of the control port."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kafkalite.client.table import ROWS
from kafkalite.terminal import words
from kafkalite.terminal.command import words as terminal
from kafkalite.terminal.words import is_for_the_terminal
from tests.kafkalite.terminal.conftest import Run

SAID = [
    (("topics",), True),
    (("topics", "--json"), True),
    (("topics", "-b", "h:1"), True),
    (("topics", "create", "t"), False),
    (("groups", "expire", "g"), False),
    (("group", "show", "g"), True),
    (("trace", "show", "t.zip"), True),
    (("trace", "save", "t.zip"), False),
    (("tail", "t"), True),
    (("clock", "advance", "46s"), False),
    (("reset",), False),
]


@pytest.mark.parametrize(("said", "is_terminal"), SAID)
def test_a_word_means_one_thing(said: tuple[str, ...], is_terminal: bool) -> None:
    assert is_for_the_terminal(said) is is_terminal


def test_each_word_of_the_terminal_is_told_apart() -> None:
    assert set(terminal.commands) == words.WORDS | words.SHARED.keys()
    assert {name.partition(".")[0] for name in ROWS} & words.WORDS == set()


@pytest.mark.parametrize("word", words.OTHERS)
def test_words_that_take_the_rest_of_the_line(word: str) -> None:
    command = [sys.executable, "-m", "kafkalite", word, "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: kafkalite {word}")


def test_an_unknown_word_gets_a_sentence_with_one_that_is_near(run: Run) -> None:
    ran = run("tial", "orders")
    assert (ran.code, ran.out) == (2, "")
    assert ran.error == "kafkalite: there is no word 'tial' (did you mean 'tail'?)\n"
    assert "snapshots" in run("xyz").error


@pytest.mark.parametrize("library", ["click", "rich", "confluent_kafka"])
def test_without_the_libraries_it_says_what_to_install(library: str) -> None:
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "from kafkalite.__main__ import main; sys.exit(main(['topics']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    wanted = f"kafkalite: topics needs {library}: pip install 'kafkalite[terminal]'\n"
    assert (done.returncode, done.stderr) == (2, wanted)


def test_a_broker_and_the_verbs_of_the_control_port_import_nothing_of_this() -> None:
    code = (
        "import sys; from kafkalite.__main__ import main\n"
        "import kafkalite.broker, kafkalite.testing\n"
        "assert main(['reset', '--url', 'http://127.0.0.1:1', '--token', 't']) == 1\n"
        "print({'click', 'rich', 'confluent_kafka'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "set()\n", done.stderr
