"""The end of the standard input as a word to stop."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from kafkalite.server import end_of_input
from kafkalite.server.end_of_input import stop_at_end_of_input


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The other end of a pipe in the place of the standard input."""
    reader, writer = os.pipe()
    monkeypatch.setattr(end_of_input, "_INPUT", reader)
    yield writer
    os.close(reader)


async def test_what_comes_is_passed_over_and_the_end_stops(
    writer: int, nursery: trio.Nursery
) -> None:
    stopped = trio.Event()
    nursery.start_soon(stop_at_end_of_input, stopped.set)
    os.write(writer, b"x" * 1000)
    await trio.testing.wait_all_tasks_blocked(0.05)
    assert not stopped.is_set()
    os.close(writer)
    with trio.fail_after(5):
        await stopped.wait()


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A file in the place of the standard input. Epoll takes none, nor /dev/null."""
    (tmp_path / "input").write_text("something")
    with open(tmp_path / "input") as file:
        monkeypatch.setattr(end_of_input, "_INPUT", file.fileno())
        yield


@pytest.mark.usefixtures("file")
async def test_a_file_has_ended() -> None:
    stopped = trio.Event()
    await stop_at_end_of_input(stopped.set)
    assert stopped.is_set()
