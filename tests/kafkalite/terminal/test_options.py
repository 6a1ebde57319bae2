"""The flags that every word takes."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

import kafkalite.testing
from kafkalite.terminal.command import words
from kafkalite.terminal.options import kafka_of, topic_names
from tests.kafkalite.terminal.conftest import Run


@pytest.mark.parametrize(
    "word",
    ["topics", "topic show", "tail", "produce", "groups", "group show", "lag", "configs", "acls"],
)
def test_every_word_has_the_flags(word: str) -> None:
    command: click.Command = words
    for each in word.split():
        assert isinstance(command, click.Group)
        command = command.commands[each]
    flags = {flag for each in command.params for flag in each.opts}
    wanted = {"-b", "--bootstrap-server", "-X", "-F", "--command-config", "--ready-file", "--json"}
    assert wanted <= flags


def test_each_way_to_name_the_kafka(
    run: Run,
    kafka: kafkalite.testing.broker,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file, ready = tmp_path / "client.properties", tmp_path / "ready.json"
    file.write_text(f"bootstrap.servers={kafka.bootstrap}")
    ready.write_text(json.dumps({"bootstrap": kafka.bootstrap}))
    monkeypatch.setenv("KAFKALITE_BOOTSTRAP", "127.0.0.1:1")
    for said in (
        ("-b", kafka.bootstrap),
        ("--bootstrap-server", kafka.bootstrap),
        ("-X", f"bootstrap.servers={kafka.bootstrap}"),
        ("-F", str(file)),
        ("--command-config", str(file)),
        ("--ready-file", str(ready)),
    ):
        assert topic in run("topics", *said).out


def test_flags_win_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=f:1")
    given = {"config_file": file, "settings": ("bootstrap.servers=x:1",), "topic": "t"}
    asked = kafka_of(given)
    assert asked.target.bootstrap == "x:1"
    assert given == {"topic": "t"}


def test_names_are_completed(kafka: kafkalite.testing.broker, topic: str) -> None:
    context = click.Context(words)
    context.params = {"bootstrap": kafka.bootstrap}
    found = topic_names(context, words.commands["tail"].params[0], topic[:-2])
    assert [each.value for each in found] == [topic]
    context.params = {"bootstrap": "127.0.0.1:x"}
    assert topic_names(context, words.commands["tail"].params[0], "") == []
