"""Trio as a guest of the loop's host: whatever is due is done, and no handler harms the others."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from time import perf_counter

import pytest
import trio
import trio.lowlevel

from kafkalite.requests.suspension import ResponseCoroutine
from kafkalite.server.connection import Connection
from kafkalite.server.host import Host
from kafkalite.server.loop import Loop
from kafkalite.wire.fields import InMemory, Records
from tests.kafkalite.one_connection import (
    PRODUCE,
    connected,
    echo,
    framed,
    hosted,
    in_task_and_loop,
    receive,
    receive_all,
)

LONG = 60.0


class Hazards:
    """Awaits that need a task, by handlers that have none."""

    def __init__(self) -> None:
        self.event = trio.Event()
        self.lot = trio.lowlevel.ParkingLot()
        self.resumed = False

    async def wait_for_event(self, connection: Connection) -> None:
        await self.event.wait()

    async def park(self, connection: Connection) -> None:
        await self.lot.park()

    async def move_inside_of_a_scope(self, connection: Connection) -> None:
        with trio.move_on_after(LONG):
            await connection.context.connection.move_to_task()

    async def sleep(self, connection: Connection) -> None:
        await trio.sleep(0.01)

    async def checkpoint(self, connection: Connection) -> None:
        await trio.lowlevel.checkpoint()

    async def open_a_nursery(self, connection: Connection) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 0.01)

    def happen(self) -> None:
        """Ways to wait, which must not reach anything but the handler."""
        self.event.set()
        self.lot.unpark_all()


@pytest.mark.parametrize(
    "hazard",
    [
        Hazards.wait_for_event,
        Hazards.park,
        Hazards.move_inside_of_a_scope,
        Hazards.sleep,
        Hazards.checkpoint,
        Hazards.open_a_nursery,
    ],
)
def test_a_handler_that_waits_without_a_task_costs_its_own_connection(
    hazard: Callable[[Hazards, Connection], Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    async def check(loop: Loop) -> None:
        hazards = Hazards()

        async def answer(connection: Connection, frame: InMemory) -> list[Records]:
            await hazard(hazards, connection)
            raise AssertionError("it went on")

        async with connected(echo, loop) as (others, _):
            async with connected(answer, loop) as (stream, _):
                await stream.send_all(framed(PRODUCE))
                with trio.fail_after(LONG):
                    assert await receive_all(stream) == b""
            hazards.happen()
            with trio.fail_after(LONG):
                await trio.sleep(0.02)
                await others.send_all(framed(PRODUCE))
                assert await receive(others, 6) == framed(PRODUCE)

    hosted(check)
    (record,) = caplog.records
    assert "10.0.0.1:5555: connection closed: a request could not be answered" in record.message
    assert record.exc_info is not None


@pytest.mark.parametrize(
    "hazard", [Hazards.wait_for_event, Hazards.park, Hazards.sleep, Hazards.move_inside_of_a_scope]
)
async def test_in_somebody_s_trio_each_coroutine_has_a_task(
    hazard: Callable[[Hazards, Connection], Awaitable[None]],
) -> None:
    hazards = Hazards()

    async def answer(connection: Connection, frame: InMemory) -> list[Records]:
        await hazard(hazards, connection)
        return [framed(bytes(frame))]

    async with connected(answer) as (stream, _):
        await stream.send_all(framed(PRODUCE))
        await trio.testing.wait_all_tasks_blocked()
        hazards.happen()
        with trio.fail_after(LONG):
            assert await receive(stream, 6) == framed(PRODUCE)


def test_deadlines_are_not_put_off_by_requests_that_are_ready() -> None:
    """10,000 requests are there at once, each of 2 ms for as long as the deadline is put off."""
    answered = 0
    passed = False

    def answer(connection: Connection, frame: InMemory) -> list[Records]:
        nonlocal answered
        answered += 1
        began = perf_counter()
        while not passed and perf_counter() - began < 0.002:
            pass
        return [framed(bytes(frame))]

    async def check(loop: Loop) -> None:
        nonlocal passed
        async with connected(answer, loop) as (stream, _), connected(answer, loop) as (other, _):
            requests = framed(*[PRODUCE] * 5000)
            with trio.CancelScope(deadline=trio.current_time() + 0.01):
                with trio.CancelScope(shield=True):
                    await stream.send_all(requests)
                    await other.send_all(requests)
                await trio.sleep_forever()
            passed = True
            assert 0 < answered < 10_000
            assert await receive(stream, len(requests)) == requests
            assert await receive(other, len(requests)) == requests

    hosted(check)
    assert answered == 10_000


@in_task_and_loop
async def test_a_request_that_yields_its_turn_lets_others_go_first(loop: Loop | None) -> None:
    order: list[bytes] = []

    def answer(connection: Connection, frame: InMemory) -> list[Records] | ResponseCoroutine:
        order.append(bytes(frame))
        if frame[2:] != b"slow":
            return [framed(bytes(frame))]

        async def slow() -> list[Records]:
            while len(order) < 3:
                await connection.context.connection.yield_turn()
            return [framed(bytes(frame))]

        return slow()

    shared = loop or Loop()
    async with trio.open_nursery() as nursery:
        if loop is None:
            from kafkalite.server.host import drive

            nursery.start_soon(drive, shared)
        async with connected(answer, shared) as (slow, _), connected(answer, shared) as (stream, _):
            with trio.fail_after(LONG):
                await slow.send_all(framed(PRODUCE + b"slow"))
                while not order:
                    await trio.lowlevel.checkpoint()
                await stream.send_all(framed(PRODUCE, PRODUCE))
                assert await receive(slow, 10) == framed(PRODUCE + b"slow")
                assert await receive(stream, 12) == framed(PRODUCE, PRODUCE)
        nursery.cancel_scope.cancel()
    if loop is None:
        shared.close()
    assert order == [PRODUCE + b"slow", PRODUCE, PRODUCE]


def test_timers_threads_and_other_sockets_are_not_late() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        began = trio.current_time()
        await trio.sleep(seconds)
        slept.append(trio.current_time() - began - seconds)

    async def check(loop: Loop) -> None:
        async with connected(echo, loop) as (stream, _):
            with trio.fail_after(LONG):
                async with trio.open_nursery() as nursery:
                    for number in range(20):
                        nursery.start_soon(sleep, number / 50)
                for _ in range(20):
                    began = trio.current_time()
                    await trio.to_thread.run_sync(time.sleep, 0.01)
                    slept.append(trio.current_time() - began - 0.01)
                    await trio.sleep(0.001)
                ours, theirs = trio.socket.socketpair()
                with ours, theirs:
                    await ours.send(b"x")
                    assert await theirs.recv(1) == b"x"
                await stream.send_all(framed(PRODUCE))
                assert await receive(stream, 6) == framed(PRODUCE)

    hosted(check)
    # A host that does not know of them would sleep for an hour.
    assert max(slept) < 5


def test_a_deadline_that_a_handler_brings_forward_is_kept() -> None:
    async def check(loop: Loop) -> None:
        with trio.CancelScope(deadline=trio.current_time() + 3600) as scope:

            def answer(connection: Connection, frame: InMemory) -> list[Records]:
                scope.deadline = trio.current_time() + 0.02
                return [framed(bytes(frame))]

            async with connected(answer, loop) as (stream, _):
                with trio.fail_after(LONG):
                    await stream.send_all(framed(PRODUCE))
                    assert await receive(stream, 6) == framed(PRODUCE)
                    await trio.sleep_forever()
        assert scope.cancelled_caught

    hosted(check)


def test_others_go_on_while_requests_keep_coming() -> None:
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await trio.sleep(0.001)
            beats += 1

    async def check(loop: Loop) -> None:
        async with connected(echo, loop) as (stream, _), trio.open_nursery() as nursery:
            nursery.start_soon(beat)
            with trio.fail_after(LONG):
                while beats < 10:
                    await stream.send_all(framed(PRODUCE))
                    assert await receive(stream, 6) == framed(PRODUCE)
            nursery.cancel_scope.cancel()

    hosted(check)


def test_it_returns_and_raises_what_the_function_does() -> None:
    async def returned(value: int) -> int:
        await trio.lowlevel.checkpoint()
        return value

    async def raised() -> None:
        await trio.lowlevel.checkpoint()
        raise LookupError

    for _ in range(2):  # one after the other
        host = Host()
        assert host.run(returned, 5) == 5
        host.close()
    host = Host()
    with pytest.raises(LookupError):
        host.run(raised)
    host.close()


WITHOUT_THREADS = """
import sys, threading
from kafkalite.__main__ import main

def start(thread):
    raise RuntimeError("can't start new thread")

threading.Thread.start = start
sys.exit(main(["--port", "0", "--temporary", "--log-level", "warning"]))
"""


def test_without_a_thread_it_ends_with_a_sentence() -> None:
    """Trio waits in a thread, and cannot go on when none can be started."""
    command = [sys.executable, "-c", WITHOUT_THREADS]
    ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert ended.stderr == (
        "kafkalite: no thread can be started: the user, or the container, may have no more\n"
    )
