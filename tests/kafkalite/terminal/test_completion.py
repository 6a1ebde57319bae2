"""Completion, as the shells ask for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import kafkalite.testing
from kafkalite.__main__ import flags_of_the_broker
from kafkalite.terminal.command import words
from kafkalite.terminal.completion import complete
from tests.kafkalite.terminal.conftest import Run


def completed(
    line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> set[str]:
    """The words that bash is offered for the last one of a line."""
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
    assert complete(words, flags_of_the_broker().format_help(), "bash_complete") == 0
    return {each.partition(",")[2] for each in capsys.readouterr().out.split()}


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("kafkalite ta", {"tail"}),
        ("kafkalite topi", {"topics", "topic"}),
        ("kafkalite cl", {"clock", "clusters"}),
        ("kafkalite topic ", {"show"}),
        ("kafkalite clock ad", {"advance"}),
        ("kafkalite trace s", {"show", "save"}),
        ("kafkalite pip", {"pipeline"}),
        ("kafkalite groups ex", {"expire"}),
        ("kafkalite groups expire --mem", {"--member"}),
        ("kafkalite tail --fo", {"--follow"}),
        ("kafkalite topics --int", {"--internal"}),
        ("kafkalite --prof", {"--profile"}),
        ("kafkalite completion z", {"zsh"}),
    ],
)
def test_words_and_flags(
    line: str,
    offered: set[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert completed(line, capsys, monkeypatch) == offered


def test_topics_and_groups_of_the_kafka_that_is_meant(
    kafka: kafkalite.testing.broker,
    topic: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kafka.seed({"groups": [{"id": "to-complete", "offsets": {topic: {0: 0}}}]})
    monkeypatch.setenv("KAFKALITE_BOOTSTRAP", "127.0.0.1:x")
    assert completed(f"kafkalite tail {topic[:-1]}", capsys, monkeypatch) == set()
    monkeypatch.setenv("KAFKALITE_BOOTSTRAP", kafka.bootstrap)
    assert completed(f"kafkalite tail {topic[:-1]}", capsys, monkeypatch) == {topic}
    assert completed("kafkalite group show to-c", capsys, monkeypatch) == {"to-complete"}
    assert completed("kafkalite lag to-c", capsys, monkeypatch) == {"to-complete"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell(run: Run, shell: str) -> None:
    ran = run("completion", shell)
    assert ran.code == 0
    assert "_KAFKALITE_COMPLETE" in ran.out


# Each shell completes "kafkalite ta" by these lines as for a user.
IN_SHELLS = {
    "bash": """
eval "$(kafkalite completion bash)"
COMP_WORDS=(kafkalite ta); COMP_CWORD=1; _kafkalite_completion kafkalite
echo "${COMPREPLY[@]}"
""",
    "zsh": """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'autoload -U compinit; compinit -u -D; source <(kafkalite completion zsh); print UP'
zpty -r shell said '*UP*UP*'
zpty -w -n shell $'kafkalite ta\\t'
zpty -r shell said '*kafkalite tail*'
zpty -d shell
print tail
""",
    "fish": """
kafkalite completion fish | source
complete --do-complete "kafkalite ta" | cut -f 1
""",
}


@pytest.mark.parametrize("shell", IN_SHELLS)
def test_a_shell_completes_with_it(shell: str, tmp_path: Path) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"left out: no {shell} here")
    command = tmp_path / "kafkalite"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m kafkalite "$@"\n')
    command.chmod(0o755)
    own = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb"}
    done = subprocess.run(
        [path, "-c", IN_SHELLS[shell]],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env={**os.environ, **own},
    )
    assert (done.stdout, done.stderr) == ("tail\n", "")
