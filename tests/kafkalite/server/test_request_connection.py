"""A connection as a handler sees it: the same in the loop and in a task."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from kafkalite.requests.purgatory import WakeReason, Watchers
from kafkalite.server.loop import Loop
from tests.kafkalite.one_connection import (
    FETCH,
    PRODUCE,
    connected,
    framed,
    in_task_and_loop,
    receive,
)


@pytest.mark.parametrize("is_in_task", [False, True])
@pytest.mark.parametrize(("seconds", "wake"), [(0.01, WakeReason.DEADLINE), (inf, WakeReason.DONE)])
@in_task_and_loop
async def test_a_wait_ends_with_its_deadline_or_its_condition(
    loop: Loop | None, is_in_task: bool, seconds: float, wake: WakeReason
) -> None:
    watchers, done, woken = Watchers(), trio.Event(), []

    async def answer(connection: Any, frame: Any) -> list[bytes]:
        asked = connection.context.connection
        if is_in_task:
            await asked.move_to_task()
        deadline = trio.current_time() + seconds
        woken.append(await asked.wait_until(done.is_set, [watchers], deadline, answer_early=False))
        return [framed(bytes(frame))]

    async with connected(answer, loop) as (stream, _):
        await stream.send_all(framed(PRODUCE))
        if seconds == inf:
            await wait_all_tasks_blocked()
            done.set()
            watchers.check_and_complete()
        assert await receive(stream, 6) == framed(PRODUCE)
    assert woken == [wake]


@pytest.mark.parametrize("is_in_task", [False, True])
@in_task_and_loop
async def test_more_input_ends_a_wait_that_is_answered_early(
    loop: Loop | None, is_in_task: bool
) -> None:
    woken: list[WakeReason] = []

    async def answer(connection: Any, frame: Any) -> list[bytes]:
        asked = connection.context.connection
        if frame == FETCH:
            if is_in_task:
                await asked.move_to_task()
            woken.append(await asked.wait_until(lambda: False, [], inf, answer_early=True))
        return [framed(bytes(frame))]

    async with connected(answer, loop) as (stream, _):
        await stream.send_all(framed(FETCH))
        await wait_all_tasks_blocked()
        await stream.send_all(framed(PRODUCE))
        assert await receive(stream, 12) == framed(FETCH, PRODUCE)
    assert woken == [WakeReason.INTERRUPTED]


@in_task_and_loop
async def test_the_last_request_before_the_end_does_not_wait(loop: Loop | None) -> None:
    """A client that has sent more is not kept waiting, unless the condition holds already."""
    woken: list[WakeReason] = []

    async def answer(connection: Any, frame: Any) -> list[bytes]:
        asked = connection.context.connection
        for done in (False, True):
            woken.append(await asked.wait_until(lambda done=done: done, [], inf, answer_early=True))
        return [framed(bytes(frame))]

    async with connected(answer, loop) as (stream, connection):
        await stream.send_all(framed(FETCH, PRODUCE))
        await wait_all_tasks_blocked()
        connection.stop()
        await receive(stream, 12)
    assert woken[:2] == [WakeReason.INTERRUPTED, WakeReason.DONE]


@in_task_and_loop
async def test_callbacks_are_called_once_the_connection_is_closed(
    loop: Loop | None,
    caplog: pytest.LogCaptureFixture,
) -> None:
    closed: list[str] = []

    def fails() -> None:
        raise ValueError("no")

    def answer(connection: Any, frame: Any) -> list[bytes]:
        asked = connection.context.connection
        asked.when_closed(lambda: closed.append("first"))
        asked.when_closed(fails)
        asked.when_closed(lambda: closed.append("second"))
        return [framed(bytes(frame))]

    async with connected(answer, loop) as (stream, connection):
        await stream.send_all(framed(PRODUCE))
        assert await receive(stream, 6) == framed(PRODUCE)
        assert closed == []
        connection.abort()
        connection.abort()
        assert closed == ["first", "second"]
    assert "10.0.0.1:5555: not everything could be given up" in caplog.text
