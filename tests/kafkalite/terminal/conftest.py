"""A broker for the words of the terminal, and a way to say them."""

from __future__ import annotations

import io
import json
import pty
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

import kafkalite.testing
from kafkalite.terminal.words import run as run_words


@dataclass(frozen=True)
class Ran:
    """The outcome of a command."""

    code: int
    out: str
    error: str

    @property
    def json(self) -> Any:
        """The answer, of `--json`."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[list[str]]:
        """The words of each line."""
        return [line.split() for line in self.out.splitlines()]


Run = Callable[..., Ran]
OnTerminal = Callable[[Callable[[], object]], str]


@pytest.fixture(scope="package")
def kafka() -> Iterator[kafkalite.testing.broker]:
    with kafkalite.testing.broker(profile="test") as broker:
        yield broker


@pytest.fixture
def run(
    kafka: kafkalite.testing.broker,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Run:
    """`run("tail", "orders", given="...")` against the broker, as the command does it."""
    monkeypatch.setenv("KAFKALITE_BOOTSTRAP", kafka.bootstrap)

    def run(*words: str, given: str | bytes = "") -> Ran:
        data = given.encode() if isinstance(given, str) else given
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        capsys.readouterr()
        code = run_words(words)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> OnTerminal:
    """`on_terminal(function)` is what it shows where the standard error is a terminal."""

    def shown(do: Callable[[], object]) -> str:
        reader, writer = pty.openpty()
        with ThreadPoolExecutor(1) as pool:
            text = pool.submit(_all_of, reader)
            with open(writer, "w") as stderr, monkeypatch.context() as patched:
                patched.setattr(sys, "stderr", stderr)
                do()
            return text.result()

    return shown


def _all_of(reader: int) -> str:
    """All that comes from a terminal until it is closed, which is an error of the device."""
    shown = b""
    with open(reader, "rb", buffering=0) as terminal, suppress(OSError):
        while data := terminal.read(1 << 12):
            shown += data
    return shown.decode()


@pytest.fixture
def topic(kafka: kafkalite.testing.broker, request: pytest.FixtureRequest) -> str:
    """A topic of the test's own, with two partitions."""
    name = f"topic-of-{request.node.name}".translate(str.maketrans("[]:= ,/*", "--------"))[:200]
    kafka.create_topic(name, partitions=2)
    return name
