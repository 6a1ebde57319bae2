"""A tape has frames in the order of their passing, and a file gives back what was written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafkalite.control import recording as module
from kafkalite.control.problems import Problem
from kafkalite.control.recording import ANSWERED, ASKED, CLOSED, Passed, Tape, read, written
from kafkalite.control.spy.handler import TapeHandler
from kafkalite.requests.context import CloseConnection
from kafkalite.requests.slices import at_once


def connection(port: int = 5) -> Any:
    context = SimpleNamespace(fault="", is_silent=False, client_software=("app", "1"))
    listener = SimpleNamespace(node_id=3)
    return SimpleNamespace(client_host="h", client_port=port, context=context, listener=listener)


def test_frames_are_in_the_order_in_which_they_passed() -> None:
    """A request that brings about another's answer comes before it."""
    now = iter(range(100, 200))
    tape = Tape(lambda: next(now))
    waiting: list[Any] = []

    def respond(asking: Any, frame: Any) -> Any:
        if frame == b"wait":

            async def answer() -> list[bytes]:
                return [b"late"]

            return answer()
        if frame == b"close":
            raise CloseConnection("a fault")
        with pytest.raises(StopIteration):
            waiting[0].send(None)
        return [b"one", b"two"]

    inner: Any = SimpleNamespace(respond=respond)
    handler = TapeHandler(inner, tape, full=True)
    waiting.append(handler.respond(connection(5), b"wait"))
    handler.respond(connection(6), b"wake")
    with pytest.raises(CloseConnection):
        handler.respond(connection(6), b"close")
    assert at_once(tape.passing()) == [
        Passed(ASKED, 1, 1, 3, 100, b"wait"),
        Passed(ASKED, 2, 2, 3, 101, b"wake"),
        Passed(ANSWERED, 1, 1, 3, 102, b"late"),
        Passed(ANSWERED, 2, 2, 3, 103, b"onetwo"),
        Passed(ASKED, 3, 2, 3, 104, b"close"),
        Passed(CLOSED, 3, 2, 3, 105, b""),
    ]


def test_a_file_gives_back_what_was_written() -> None:
    tape = [Passed(ASKED, 1, 2, 3, 1 << 40, b"request"), Passed(ANSWERED, 1, 2, 3, 5, b"")]
    got = read(written({"configs": {"a": "b"}, "nodes": 3}, b"data", iter(tape)))
    assert (got.configs, got.nodes, got.data, got.tape) == ({"a": "b"}, 3, b"data", tape)
    with pytest.raises(Problem, match="this is no recording"):
        read(b"odd")


def test_a_recording_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    tape = Tape(lambda: 0)
    for _ in range(3):
        tape.add(("h", 1), bytes(100), 100)
    with pytest.raises(Problem, match="this has more"):
        at_once(tape.passing())
