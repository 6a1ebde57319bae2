"""Mistakes and refusals: one sentence on stderr, and the exit code that a script wants."""

from __future__ import annotations

import socket

import pytest

from kafkalite.terminal import kafka
from tests.kafkalite.terminal.conftest import Run

MISTAKES = [
    (("tail",), "kafkalite tail: name one topic"),
    (("tail", "a", "-t", "b"), "kafkalite tail: name one topic"),
    (("topic", "show"), "kafkalite topic show: name one topic, as in: kafkalite topic show orders"),
    (("tail", "a", "-n", "ten"), "-n ten: it is a number of records, or all"),
    (("tail", "a", "--since", "soon"), "--since soon: it is a duration (5m, 2h, 7d) or a time"),
    (("tail", "a", "-o", "last"), "-o last: it is beginning, end, an offset (42)"),
    (("tail", "a", "-o", "s@soon"), "-o s@ soon: it is a duration (5m, 2h, 7d) or a time"),
    (("tail", "a", "-o", "1", "--since", "5m"), "--since, --offset and --from-beginning exclude"),
    (("tail", "a", "-o", "1", "--from-beginning"), "exclude each other"),
    (("tail", "a", "--bogus"), "No such option '--bogus'"),
    (("produce", "a", "-H", "x"), "-H x: it is NAME=VALUE"),
    (("produce", "a", "-k", "x", "-K", ":"), "--key and --key-separator exclude each other"),
    (("produce", "a", "-l", "/no/file"), "'/no/file'"),
    (("produce", "a", "-z", "rar"), "'rar' is not one of 'none', 'gzip', 'snappy', 'lz4', 'zstd'"),
    (("lag", "--interval", "x"), "--interval is 'x', which is not a duration"),
    (("lag", "--interval", "-5s"), "is '-5s', which is negative (write it without the minus)"),
    (("configs", "--topic", "a", "--group", "b"), "exclude each other"),
    (("configs", "--broker", "1", "--broker-logger", "1"), "exclude each other"),
    (("configs", "--broker", "1", "--broker-defaults"), "exclude each other"),
    (("configs", "--add-config", "a=1"), "name what to configure"),
    (("groups", "--state", "empty,Asleep"), "'asleep' is none of preparingrebalance, "),
    (("configs", "--topic", "a", "--add-config", "a"), "--add-config a: it is NAME=VALUE,..."),
    (("configs", "--topic", "a", "--add-config", "a=1, =2"), "--add-config a=1, =2: it is NAME="),
    (("configs", "--topic", "a", "--delete-config", "a,"), "-config a,: it is names with"),
    (("acls", "--topic", "a", "--cluster"), "exclude each other"),
    (("acls", "--principal", "alice"), "--principal alice: it is User:alice"),
    (("topics", "-b", "host:port"), "-b host:port: 'host:port' is no HOST:PORT"),
    (("topics", "-X", "debug"), "-X debug: it is NAME=VALUE"),
    (("topics", "-X", "no.such=1"), 'No such configuration property: "no.such"'),
    (("topics", "-F", "/no/file"), "-F /no/file cannot be read: No such file or directory"),
    (("topics", "--ready-file", "/no/file"), "the ready file /no/file cannot be read"),
    (("topic",), "kafkalite topic: Missing command (--help shows what there is)"),
    (("group",), "kafkalite group: Missing command (--help shows what there is)"),
    (("topic", "sow", "a"), "No such command 'sow'"),
    (("completion", "csh"), "'csh'"),
]
REFUSALS = [
    (("topic", "show", "none"), "kafkalite: there is no topic 'none'"),
    (("tail", "none"), "kafkalite: there is no topic 'none'"),
    (("configs", "--topic", "none"), "kafkalite: there is no topic 'none'"),
    (("configs", "--broker", "9"), "kafkalite: there is no broker '9'"),
    (("configs", "--broker-logger", "9"), "kafkalite: there is no broker '9'"),
    (
        ("configs", "--broker-logger", "1", "--add-config", "no.such=DEBUG"),
        "kafkalite: loggers of broker 1: Logger no.such does not exist! (INVALID_CONFIG)\n",
    ),
    (("group", "show", "none"), "kafkalite: there is no group 'none'"),
    (("lag", "none"), "kafkalite: there is no group 'none'"),
]


@pytest.mark.parametrize(("words", "sentence"), MISTAKES)
def test_a_mistake_is_told(run: Run, words: tuple[str, ...], sentence: str) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.error
    assert ran.error.count("\n") == 1
    assert ran.error.startswith(f"kafkalite {words[0]}")


@pytest.mark.parametrize(("words", "sentence"), REFUSALS)
def test_a_refusal_is_told(run: Run, words: tuple[str, ...], sentence: str) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (1, "")
    assert ran.error.startswith(sentence)
    assert ran.error.count("\n") == 1


def test_a_dead_bootstrap_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "_FIRST_ANSWER_SECONDS", 0.5)
    with socket.socket() as taken:  # bound, and not listening: nothing else can be there
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ran = run("topics", "-b", address)
    assert (ran.code, ran.out) == (1, "")
    assert ran.error.startswith(f"kafkalite: no Kafka answers at {address}: ")
    assert "Connection refused" in ran.error
    assert ran.error.count("\n") == 1


def test_help_is_there(run: Run) -> None:
    for words in ((), ("tail",), ("group", "show"), ("topics",)):
        ran = run(*(words or ("topic",)), "--help")
        assert (ran.code, ran.error) == (0, "")
        assert ran.out.startswith("Usage: kafkalite")
