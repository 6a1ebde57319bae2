"""Turns of the loop: who is served, in which order, and that a quiet loop is quiet."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from time import perf_counter

import pytest
import trio

from kafkalite.group_coordinator.timers import AT_ONCE, Timer
from kafkalite.requests.suspension import SuspendedRequest
from kafkalite.server.connection import Connection
from kafkalite.server.interest import Interest
from kafkalite.server.loop import Loop
from kafkalite.wire.fields import InMemory, Records
from tests.kafkalite.one_connection import (
    FETCH,
    PRODUCE,
    connected,
    framed,
    in_task_and_loop,
    receive,
)


class Served:
    """Something that watches one end of a pair of sockets, and notes when it is served."""

    last_key = -1

    has_waited = False

    def __init__(self, name: str, log: list[str], seconds: float = 0.0) -> None:
        self.name, self.log, self.seconds = name, log, seconds
        self.ours, self.theirs = socket.socketpair()

    def ready(self, now: float) -> bool:
        self.log.append(self.name)
        self.ours.recv(1)
        began = perf_counter()
        while perf_counter() - began < self.seconds:
            pass
        return True

    def resume(self, suspended: SuspendedRequest | None) -> bool:
        self.log.append(f"resumed {self.name}")
        return self.has_waited

    def send_responses(self) -> None:
        self.log.append(f"sent {self.name}")

    def close(self) -> None:
        self.ours.close()
        self.theirs.close()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


async def test_responses_are_sent_after_others_were_answered(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafkalite.server.loop._TURN_SECONDS", 60)  # on a busy machine, too
    loop, log = Loop(), list[str]()
    stack.callback(loop.close)
    for name in ("a", "b"):
        served = Served(name, log)
        stack.callback(served.close)
        loop.watch(served.ours.fileno(), served, Interest.INPUT)
        served.theirs.send(b"x")
    loop.turn(loop.poll(0))
    assert log == ["a", "b", "sent a", "sent b"]
    assert not loop.poll(0)


async def test_a_turn_that_is_over_leaves_the_rest_to_the_next(stack: ExitStack) -> None:
    loop, log = Loop(), list[str]()
    stack.callback(loop.close)
    for name in ("a", "b", "c"):
        served = Served(name, log, seconds=0.01)
        stack.callback(served.close)
        loop.watch(served.ours.fileno(), served, Interest.INPUT)
        served.theirs.send(b"xx")  # there is more at once
    for _ in range(4):
        loop.turn(loop.poll(0))
    assert [name for name in log if len(name) == 1] == ["a", "b", "c", "a"]
    assert loop.is_busy


class Time:
    """The loop's clock, which only work moves: that of another process does not count here."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Working(Served):
    """Has input for ever, and takes `milliseconds` with each request."""

    def __init__(self, name: str, log: list[str], time: Time, milliseconds: float) -> None:
        super().__init__(name, log)
        self._time, self._milliseconds = time, milliseconds
        self.theirs.send(b"x" * 1000)

    def ready(self, now: float) -> bool:
        self._time.now += self._milliseconds / 1000
        return super().ready(now)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    time = Time()
    monkeypatch.setattr("kafkalite.server.loop.perf_counter", time)
    return time


def order_of(stack: ExitStack, time: Time, turns: int, milliseconds: dict[str, float]) -> str:
    """In which order connections are served that take so long each; a letter is one of them."""
    loop, log = Loop(), list[str]()
    stack.callback(loop.close)
    for name, each in milliseconds.items():
        working = Working(name, log, time, each)
        stack.callback(working.close)
        loop.watch(working.ours.fileno(), working, Interest.INPUT)
    for _ in range(turns):
        loop.turn(loop.poll(0))
    return "".join(name for name in log if len(name) == 1)


async def test_a_quick_connection_waits_for_one_slow_one_at_most(
    stack: ExitStack, time: Time
) -> None:
    order = order_of(stack, time, 60, dict.fromkeys("abcdef", 4) | {"Q": 0.01})
    between = order[order.index("Q") :].split("Q")
    assert max(map(len, between)) <= 2  # that of the turn before, and one
    slow = "".join(between)
    rounds = [slow[start : start + 6] for start in range(0, len(slow) - 6, 6)]
    assert len(rounds) > 5
    assert all(sorted(each) == list("abcdef") for each in rounds)


async def test_a_slow_connection_is_served_though_quick_ones_fill_the_turns(
    stack: ExitStack, time: Time
) -> None:
    order = order_of(stack, time, 60, dict.fromkeys("abcdefghijklmnop", 0.4) | {"S": 8, "X": 8})
    assert order.count("S") >= 12
    assert order.count("X") >= 12


async def test_what_was_waited_for_is_resumed_beside_slow_requests(
    stack: ExitStack, time: Time
) -> None:
    loop, log = Loop(), list[str]()
    stack.callback(loop.close)
    working = Working("S", log, time, 4)
    stack.callback(working.close)
    loop.watch(working.ours.fileno(), working, Interest.INPUT)
    waiting = Served("w", log)
    stack.callback(waiting.close)
    for _ in range(5):
        loop.resume(waiting, None)
    loop.turn(loop.poll(0))
    assert log.count("resumed w") == 5


async def test_what_is_watched_for_is_changed_and_ended(stack: ExitStack) -> None:
    loop, log = Loop(), list[str]()
    stack.callback(loop.close)
    served = Served("a", log)
    stack.callback(served.close)
    number = served.ours.fileno()
    loop.watch(number, served, Interest.INPUT)
    assert not loop.poll(0)
    loop.watch(number, served, Interest.ROOM)
    assert [fileno for fileno, _ in loop.poll(0)] == [number]
    loop.watch(number, served, Interest.NOTHING)
    loop.watch(number, served, Interest.NOTHING)
    served.theirs.close()  # not even a hang-up is told
    assert not loop.poll(0)


async def test_a_timer_expires_in_a_turn(stack: ExitStack) -> None:
    loop, expired = Loop(), list[int]()
    stack.callback(loop.close)
    woken: list[int] = []
    loop.wake = lambda: woken.append(1)
    timer, forgotten = Timer(lambda: expired.append(1)), Timer(lambda: expired.append(2))
    loop.set_timer(timer, trio.current_time() - 1)
    loop.set_timer(forgotten, trio.current_time() - 1)
    forgotten.close()
    assert woken
    assert loop.next_deadline < trio.current_time()
    loop.turn(())
    assert expired == [1]


async def test_no_more_timers_expire_in_a_turn_than_others_can_wait_for(stack: ExitStack) -> None:
    loop, expired = Loop(), list[int]()
    stack.callback(loop.close)
    for number in range(3 * AT_ONCE - 1):
        loop.set_timer(Timer(partial(expired.append, number)), trio.current_time() - 1)
    seen = []
    while loop.next_deadline < trio.current_time():
        loop.turn(())
        seen.append(len(expired))
    assert seen == [AT_ONCE, 2 * AT_ONCE, 3 * AT_ONCE - 1]


async def test_what_is_resumed_comes_after_what_is_ready(stack: ExitStack) -> None:
    loop, log = Loop(), list[str]()
    stack.callback(loop.close)
    served = Served("a", log)
    stack.callback(served.close)
    loop.watch(served.ours.fileno(), served, Interest.INPUT)
    served.theirs.send(b"x")
    loop.resume(served, None)
    assert loop.is_busy
    loop.turn(loop.poll(0))
    assert log == ["a", "resumed a", "sent a"]
    assert not loop.is_busy


async def test_a_client_that_has_waited_gets_its_response_first(stack: ExitStack) -> None:
    loop, log = Loop(), list[str]()
    stack.callback(loop.close)
    producer, consumer = Served("producer", log), Served("consumer", log)
    consumer.has_waited = True
    for served in (producer, consumer):
        stack.callback(served.close)
    loop.watch(producer.ours.fileno(), producer, Interest.INPUT)
    producer.theirs.send(b"x")
    loop.resume(consumer, None)
    loop.turn(loop.poll(0))
    assert log == ["producer", "resumed consumer", "sent consumer", "sent producer"]


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 900_000])
@in_task_and_loop
async def test_a_quiet_connection_takes_no_turns(
    loop: Loop | None, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither after an answer that the client took at once, nor after one that it did not."""
    calls = 0
    ready = Connection.ready

    def counted(self: Connection, now: float) -> bool:
        nonlocal calls
        calls += 1
        return ready(self, now)

    monkeypatch.setattr(Connection, "ready", counted)

    async def park(connection: Connection) -> list[Records]:
        deadline = trio.current_time() + 30
        await connection.context.connection.wait_until(
            lambda: False, [], deadline, answer_early=True
        )
        return []

    def answer(connection: Connection, frame: InMemory) -> object:
        return park(connection) if frame == FETCH else [framed(bytes(size))]

    async with connected(answer, loop) as (stream, _):
        await stream.send_all(framed(PRODUCE, PRODUCE))
        await trio.sleep(0.05)
        with trio.fail_after(30):
            assert len(await receive(stream, 2 * (size + 4))) == 2 * (size + 4)
        for request in (b"", framed(FETCH)):
            await stream.send_all(request)
            await trio.sleep(0.05)
            before = calls
            await trio.sleep(0.1)
            assert calls == before
