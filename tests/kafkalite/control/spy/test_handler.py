"""The spy in the way of frames: it answers as the handler behind it, and keeps what passes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kafkalite.control.spy.handler import FIRST_BYTES, SpyHandler
from kafkalite.control.spy.ring import Entry, Ring
from kafkalite.log.open_files import FileSlice, LogFile, OpenFiles
from kafkalite.requests.context import CloseConnection
from kafkalite.requests.suspension import move_to_task, yield_turn
from kafkalite.server.connection import Connection
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.fields import Records

Answer = Callable[[Any, Any], Any]
SOFTWARE = ("librdkafka", "2.6.0")


def connection() -> Any:
    context = SimpleNamespace(fault="", is_silent=False, client_software=SOFTWARE)
    listener = SimpleNamespace(node_id=3)
    return SimpleNamespace(
        client_host="10.0.0.1", client_port=5, context=context, listener=listener
    )


def spied(answer: Answer, frame: bytes | memoryview = b"frame", *, full: bool = False) -> Any:
    """The response, and the ring after it."""
    ring = Ring()
    handler = SpyHandler(cast("Any", SimpleNamespace(respond=answer)), ring, full=full)
    return handler.respond(cast("Connection", connection()), frame), ring


def only(ring: Ring) -> Entry:
    (entry,) = ring
    return entry


def test_an_answer_at_once_is_kept_and_passed_on() -> None:
    chunks: list[Records] = [b"answer", memoryview(b"view")]
    response, ring = spied(lambda *_: chunks)
    assert response is chunks
    entry = only(ring)
    assert (entry.frame, entry.answer, entry.outcome) == (
        b"frame",
        (b"answer", b"view"),
        "answered",
    )
    assert (entry.client, entry.node, entry.software) == (("10.0.0.1", 5), 3, SOFTWARE)
    assert not entry.parked_ns


def test_most_answers_are_one_piece() -> None:
    chunks: list[Records] = [b"answer"]
    response, ring = spied(lambda *_: chunks)
    assert response is chunks
    entry = only(ring)
    assert (entry.frame, entry.answer, entry.outcome) == (b"frame", (b"answer",), "answered")
    assert (entry.client, entry.node, entry.software) == (("10.0.0.1", 5), 3, SOFTWARE)
    assert 0 < entry.received_ns <= entry.answered_ns
    assert only(ring) is entry


def test_an_answer_that_a_fault_has_changed_names_it() -> None:
    def changed(connection: Any, frame: Any) -> list[Records]:
        connection.context.fault = "fault-3"
        return [b"changed"]

    _, ring = spied(changed)
    assert (only(ring).fault, only(ring).answer) == ("fault-3", (b"changed",))


def test_no_answer_is_said_to_be_none() -> None:
    _, ring = spied(lambda *_: [])
    assert only(ring).outcome == "none"


@pytest.mark.parametrize("error", [ProtocolViolation("odd", position=7), CloseConnection("fault")])
def test_a_connection_that_is_closed_is_told_with_the_reason(error: Exception) -> None:
    def refuse(connection: Any, frame: Any) -> Any:
        connection.context.fault = "fault-1"
        raise error

    ring = Ring()
    handler = SpyHandler(cast("Any", SimpleNamespace(respond=refuse)), ring, full=False)
    with pytest.raises(type(error)):
        handler.respond(cast("Connection", connection()), b"frame")
    entry = only(ring)
    assert (entry.outcome, entry.why, entry.fault) == ("closed", str(error), "fault-1")


def test_a_view_is_copied_before_it_is_good_no_longer() -> None:
    buffer = bytearray(b"first")
    _, ring = spied(lambda *_: [], memoryview(buffer))
    buffer[:] = b"other"
    assert only(ring).frame == b"first"


@pytest.mark.parametrize(("full", "kept"), [(False, FIRST_BYTES), (True, 10_000)])
def test_only_the_mode_full_keeps_large_requests_whole(full: bool, kept: int) -> None:
    _, ring = spied(lambda *_: [], bytes(10_000), full=full)
    assert (len(only(ring).frame), only(ring).request_bytes) == (kept, 10_000)


@pytest.mark.parametrize(("full", "kept"), [(False, 4), (True, b"cord")])
def test_only_the_mode_full_reads_files(tmp_path: Path, full: bool, kept: bytes | int) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"records")
    with FileSlice(LogFile(path.parent, path.name, OpenFiles()), 2, 4) as records:
        _, ring = spied(lambda *_: [b"head", records], full=full)
        assert only(ring).answer == (b"head", kept)
        assert only(ring).answer_bytes == 8


async def waits(connection: Any, frame: Any) -> list[Records]:
    await yield_turn()
    connection.context.fault = "fault-2"
    await move_to_task()
    return [b"late"]


def test_a_request_that_waits_is_kept_waiting_until_it_is_answered() -> None:
    response, ring = spied(waits)
    entry = only(ring)
    assert (entry.outcome, entry.answered_ns) == ("waiting", 0)
    response.send(None)
    response.send(None)
    assert entry.context is not None
    with pytest.raises(StopIteration) as done:
        response.send(None)
    assert done.value.value == [b"late"]
    assert (entry.outcome, entry.answer, entry.fault) == ("answered", (b"late",), "fault-2")
    assert entry.parked_ns
    assert entry.context is None


async def test_it_can_be_awaited_as_any_coroutine() -> None:
    async def at_once(connection: Any, frame: Any) -> list[Records]:
        return [b"x"]

    response, ring = spied(at_once)
    assert await response == [b"x"]
    assert only(ring).outcome == "answered"


def test_a_request_whose_connection_is_closed_meanwhile() -> None:
    response, ring = spied(waits)
    response.send(None)
    response.close()
    assert (only(ring).outcome, only(ring).why) == ("closed", "the connection was closed")
    response.close()


def test_one_that_never_began_is_given_up_without_a_warning() -> None:
    response, ring = spied(waits)
    response.close()
    assert only(ring).outcome == "closed"


def test_an_exception_thrown_in_reaches_the_request() -> None:
    async def stubborn(connection: Any, frame: Any) -> list[Records]:
        try:
            await yield_turn()
        except ValueError:
            connection.context.is_silent = True
            raise CloseConnection("silent") from None
        return []

    response, ring = spied(stubborn)
    response.send(None)
    with pytest.raises(CloseConnection):
        response.throw(ValueError())
    assert only(ring).outcome == "silent"
