"""The longest time for which anything held the loop, and the name of what did."""

from __future__ import annotations

import socket
import time

import pytest
import trio

from kafkalite.server.connection import Connection
from kafkalite.server.loop import Loop
from kafkalite.server.watchdog import Watchdog
from kafkalite.wire.fields import InMemory, Records
from tests.kafkalite.one_connection import connected, framed, hosted, receive


@pytest.mark.holds_the_loop
def test_the_longest_turn_is_measured() -> None:
    def answer(connection: Connection, frame: InMemory) -> list[Records]:
        began = time.thread_time()
        while time.thread_time() - began < 0.03:
            pass
        return [framed(bytes(frame))]

    async def check(loop: Loop) -> None:
        async with connected(answer, loop) as (stream, _):
            await stream.send_all(framed(b"\0\3"))
            await receive(stream, 6)
        assert loop.longest_turn_seconds >= 0.03
        assert loop.watchdog.longest == "10.0.0.1:5555, METADATA"
        assert loop.watchdog.longest_work_seconds >= 0.03

    hosted(check)


async def test_a_task_s_step_is_measured() -> None:
    watchdog = Watchdog()
    trio.lowlevel.add_instrument(watchdog)
    await trio.lowlevel.checkpoint()
    socket.getaddrinfo("127.0.0.1", 0)
    time.sleep(0.05)  # noqa: ASYNC251 - that is the point
    await trio.lowlevel.checkpoint()
    trio.lowlevel.remove_instrument(watchdog)
    assert watchdog.longest_seconds >= 0.05
    assert "test_a_task_s_step_is_measured" in watchdog.longest
    assert watchdog.longest_work_seconds < 0.05
