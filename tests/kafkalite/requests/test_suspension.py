"""A request that waits for something to become true: in the loop, or in a task.

A hosted loop keeps it itself, any other leaves it to a task; what the client sees is the same.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from kafkalite.log.open_files import FileSlice, LogFile, OpenFiles
from kafkalite.requests.purgatory import Watchers
from kafkalite.server.connection import Connection
from kafkalite.server.loop import Loop
from kafkalite.wire.fields import InMemory, Records
from tests.kafkalite.one_connection import (
    FETCH,
    PRODUCE,
    connected,
    framed,
    in_task_and_loop,
    receive,
    receive_all,
)
from tests.kafkalite.until import until

# Long enough for whatever is runnable on a busy machine; nothing waits for it to be over.
A_WHILE = 0.05
LONG = 60.0


class Shelf:
    """Something to wait for: every FETCH waits until it is full, and answers why it went on."""

    def __init__(self, *, seconds: float = LONG, answer_early: bool = True) -> None:
        self.seconds = seconds
        self.answer_early = answer_early
        self.is_full = False
        self.watchers = Watchers()
        self.asked = 0

    def fill(self) -> None:
        self.is_full = True
        self.watchers.check_and_complete()

    def done(self) -> bool:
        self.asked += 1
        return self.is_full

    async def answer(self, connection: Connection, frame: InMemory) -> list[Records]:
        if bytes(frame) != FETCH:
            return [framed(bytes(frame))]
        deadline = trio.current_time() + self.seconds
        wake = await connection.context.connection.wait_until(
            lambda: self.done(), [self.watchers], deadline, answer_early=self.answer_early
        )
        return [framed(wake.name.encode())]

    async def parked(self) -> None:
        """Return once a request waits."""
        await until(lambda: len(self.watchers) == 1)


async def received(stream: trio.SocketStream, *bodies: bytes) -> None:
    with trio.fail_after(LONG):
        assert await receive(stream, len(framed(*bodies))) == framed(*bodies)


@in_task_and_loop
async def test_it_goes_on_when_what_it_waits_for_is_there(loop: Loop | None) -> None:
    shelf = Shelf()
    async with connected(shelf.answer, loop) as (stream, _):
        for _ in range(3):
            shelf.is_full = False
            await stream.send_all(framed(FETCH))
            await shelf.parked()
            shelf.watchers.check_and_complete()  # not enough
            await trio.sleep(A_WHILE)
            shelf.fill()
            shelf.fill()  # told twice, and answered once
            await received(stream, b"DONE")
        assert len(shelf.watchers) == 0


@in_task_and_loop
async def test_many_changes_are_one_to_the_loop(loop: Loop | None) -> None:
    """So that what changes often beside thousands that wait for it does not look for them all."""
    shelf = Shelf()
    async with connected(shelf.answer, loop) as (stream, _):
        await stream.send_all(framed(FETCH))
        await shelf.parked()
        asked = shelf.asked
        for _ in range(1000):
            shelf.watchers.check_and_complete()
        assert shelf.asked == asked, "whoever changes it does not look himself"
        await trio.sleep(A_WHILE)
        assert shelf.asked == asked + 1
        shelf.fill()
        await received(stream, b"DONE")


@in_task_and_loop
async def test_a_condition_that_fails_ends_its_own_connection(loop: Loop | None) -> None:
    shelf = Shelf()
    async with (
        connected(shelf.answer, loop) as (stream, _),
        connected(shelf.answer, loop) as (other, _),
    ):
        await stream.send_all(framed(FETCH))
        await shelf.parked()
        # A condition that raises, in place of the one that is waited for.
        shelf.done = lambda: 1 // 0 == 0  # type: ignore[method-assign]  # it raises
        shelf.watchers.check_and_complete()  # by another client, say
        with trio.fail_after(LONG):
            assert await receive_all(stream) == b""
        await other.send_all(framed(PRODUCE))
        await received(other, PRODUCE)


@in_task_and_loop
async def test_it_does_not_wait_for_what_is_there(loop: Loop | None) -> None:
    shelf = Shelf()
    shelf.is_full = True
    async with connected(shelf.answer, loop) as (stream, _):
        await stream.send_all(framed(FETCH, FETCH, PRODUCE))
        await received(stream, b"DONE", b"DONE", PRODUCE)


@in_task_and_loop
async def test_its_time_is_up(loop: Loop | None) -> None:
    shelf = Shelf(seconds=A_WHILE)
    async with connected(shelf.answer, loop) as (stream, _):
        for _ in range(3):
            began = trio.current_time()
            await stream.send_all(framed(FETCH))
            await received(stream, b"DEADLINE")
            assert trio.current_time() >= began + A_WHILE
        # And one that goes on in time is not disturbed by a deadline that has passed meanwhile.
        shelf.seconds = 10 * A_WHILE  # a busy machine may stand still for a while
        await stream.send_all(framed(FETCH))
        await shelf.parked()
        shelf.fill()
        await received(stream, b"DONE")
        shelf.is_full, shelf.seconds = False, LONG
        await stream.send_all(framed(FETCH))
        await trio.sleep(11 * A_WHILE)
        shelf.fill()
        await received(stream, b"DONE")


@in_task_and_loop
async def test_more_from_the_client_interrupts_it(loop: Loop | None) -> None:
    shelf = Shelf()
    async with connected(shelf.answer, loop) as (stream, _):
        await stream.send_all(framed(FETCH))
        await shelf.parked()
        await stream.send_all(framed(PRODUCE, FETCH))
        await received(stream, b"INTERRUPTED", PRODUCE)
        await shelf.parked()
        shelf.fill()
        await received(stream, b"DONE")


@in_task_and_loop
async def test_it_is_not_begun_when_more_came_with_it(loop: Loop | None) -> None:
    shelf = Shelf()
    async with connected(shelf.answer, loop) as (stream, _):
        await stream.send_all(framed(FETCH, PRODUCE))
        await received(stream, b"INTERRUPTED", PRODUCE)


@in_task_and_loop
async def test_more_from_the_client_waits_where_it_is_told_to(loop: Loop | None) -> None:
    shelf = Shelf(answer_early=False)
    async with connected(shelf.answer, loop) as (stream, _):
        await stream.send_all(framed(FETCH, PRODUCE + b"1"))
        await shelf.parked()
        await stream.send_all(framed(PRODUCE + b"2"))
        await trio.sleep(A_WHILE)
        asked = shelf.asked
        await trio.sleep(A_WHILE)
        assert shelf.asked == asked, "it looks again and again"
        shelf.fill()
        await received(stream, b"DONE", PRODUCE + b"1", PRODUCE + b"2")
        await stream.send_all(framed(PRODUCE))
        await received(stream, PRODUCE)


@pytest.mark.parametrize("answer_early", [False, True])
@pytest.mark.parametrize("more", [b"", framed(PRODUCE)])
@in_task_and_loop
async def test_stopping_ends_it(loop: Loop | None, answer_early: bool, more: bytes) -> None:
    shelf = Shelf(answer_early=answer_early)
    async with connected(shelf.answer, loop) as (stream, connection):
        await stream.send_all(framed(FETCH))
        await shelf.parked()
        if more and not answer_early:
            await stream.send_all(more)
            await trio.sleep(A_WHILE)
        connection.stop()
        await received(stream, b"INTERRUPTED")


@in_task_and_loop
async def test_a_client_that_goes_leaves_nothing(loop: Loop | None) -> None:
    shelf = Shelf()
    async with connected(shelf.answer, loop) as (stream, _):
        await stream.send_all(framed(FETCH))
        await shelf.parked()
        await stream.aclose()
        await until(lambda: len(shelf.watchers) == 0)


@in_task_and_loop
async def test_cutting_it_off_leaves_nothing(loop: Loop | None) -> None:
    shelf = Shelf()
    async with connected(shelf.answer, loop) as (stream, connection):
        await stream.send_all(framed(FETCH))
        await shelf.parked()
        shelf.fill()
        connection.abort()
        with trio.fail_after(LONG):
            assert await receive_all(stream) in (b"", framed(b"DONE"))
        assert len(shelf.watchers) == 0


@in_task_and_loop
async def test_it_waits_behind_an_answer_that_the_client_does_not_take(loop: Loop | None) -> None:
    shelf = Shelf()
    large = PRODUCE + bytes(900_000)

    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        if frame[:2] == PRODUCE:
            return [framed(large)]
        return await shelf.answer(connection, frame)

    async with connected(answer, loop) as (stream, _):
        await stream.send_all(framed(PRODUCE))
        await trio.sleep(A_WHILE)
        await received(stream, large)
        await stream.send_all(framed(PRODUCE, FETCH))
        await trio.sleep(A_WHILE)
        await received(stream, large)
        await shelf.parked()
        shelf.fill()
        await received(stream, b"DONE")


@in_task_and_loop
async def test_it_moves_to_the_task_when_an_answer_before_it_is_on_the_disk_only(
    loop: Loop | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shelf = Shelf()
    path = tmp_path / "segment"
    content = PRODUCE + bytes(100_000)
    path.write_bytes(content)
    file = LogFile(path.parent, path.name, OpenFiles())

    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        if bytes(frame) == PRODUCE:
            return [framed(content)[:4], FileSlice(file, 0, len(content))]
        return await shelf.answer(connection, frame)

    is_cached = iter([False])
    monkeypatch.setattr(FileSlice, "is_cached", lambda *_: next(is_cached, True))
    async with connected(answer, loop) as (stream, _):
        # Input that comes with it would interrupt it; so it comes while the answer is not yet sent.
        shelf.answer_early = False
        await stream.send_all(framed(PRODUCE, FETCH))
        await received(stream, content)
        await shelf.parked()
        await trio.sleep(A_WHILE)
        shelf.fill()
        await received(stream, b"DONE")
