"""Calls from other threads end, whatever becomes of the loop, of the caller, or of the process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, TimeoutError

import pytest
import trio

from kafkalite.client.calls import Calls
from kafkalite.testing import broker as test_broker

BOUND_SECONDS = 10


class Loop:
    """A loop of trio in a thread, which takes calls until `end`."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._thread = threading.Thread(target=trio.run, args=(self._run,), daemon=True)
        self._thread.start()
        assert self._ready.wait(BOUND_SECONDS)

    async def _run(self) -> None:
        async with trio.open_nursery() as nursery:
            self.calls = Calls(nursery)
            self._over = trio.Event()
            self._ready.set()
            await self._over.wait()
            nursery.cancel_scope.cancel()

    def end(self) -> None:
        """End the loop, and then the calls."""
        self.calls.done(self._over.set)
        self._thread.join(BOUND_SECONDS)
        self.calls.end()


async def seven() -> int:
    await trio.lowlevel.checkpoint()
    return 7


async def for_ever() -> None:
    await trio.sleep_forever()


def raising() -> None:
    raise KeyError("mine")


def test_what_a_call_gives_comes_to_its_thread() -> None:
    loop = Loop()
    assert loop.calls.done(lambda: 5) == 5
    with pytest.raises(KeyError, match="mine"):
        loop.calls.done(raising)
    assert loop.calls.started(seven()).result(BOUND_SECONDS) == 7
    loop.end()


def test_a_call_that_is_under_way_ends_with_the_loop() -> None:
    loop = Loop()
    future = loop.calls.started(for_ever())
    loop.end()
    with pytest.raises(RuntimeError, match="the broker has ended"):
        future.result(BOUND_SECONDS)


def test_a_call_after_the_end_is_refused() -> None:
    loop = Loop()
    loop.end()
    with pytest.raises(RuntimeError, match="the broker has ended"):
        loop.calls.done(lambda: 5)
    with pytest.raises(RuntimeError, match="the broker has ended"):
        loop.calls.started(seven()).result(BOUND_SECONDS)


async def test_a_call_that_comes_when_the_nursery_is_closed_is_refused() -> None:
    async with trio.open_nursery() as nursery:
        pass
    calls = Calls(nursery)
    future = calls.started(seven())
    await trio.testing.wait_all_tasks_blocked()
    with pytest.raises(RuntimeError, match="the broker has ended"):
        future.result(0)


def test_who_gives_up_ends_the_call() -> None:
    loop = Loop()
    ended: Future[bool] = Future()

    async def wait() -> None:
        try:
            await trio.sleep_forever()
        finally:
            ended.set_result(True)

    future = loop.calls.started(wait())
    loop.calls.done(lambda: None)
    assert future.cancel()
    assert ended.result(BOUND_SECONDS)
    loop.end()


def test_a_call_given_up_too_late_harms_nobody() -> None:
    """The loop of asyncio that gives up after the end of the broker's has nothing to end."""
    loop = Loop()
    future = loop.calls.started(seven())
    assert future.result(BOUND_SECONDS) == 7
    loop.end()
    assert not future.cancel()


def test_a_timeout_of_asyncio_leaves_the_broker_alone() -> None:
    async def give_up() -> int:
        async with test_broker() as b:
            b.create_topic("t")
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(b.asynchronous.wait.records("t", 1), 0.05)
            return len(await b.asynchronous.topics())

    assert asyncio.run(give_up()) == 1


async def test_a_timeout_of_trio_ends_a_verb_of_a_broker_in_a_thread() -> None:
    with test_broker() as b:
        b.create_topic("t")
        with trio.move_on_after(0.05):
            await b.asynchronous.wait.records("t", 1, timeout="1h")
        assert len(await b.asynchronous.topics()) == 1


def test_verbs_that_come_while_the_broker_ends() -> None:
    """Each is done, or says that the broker has ended; none stands still or harms its end."""
    wrong: list[BaseException] = []

    def ask(b: test_broker, verb: Callable[[], object]) -> None:
        while True:
            try:
                verb()
            except BaseException as error:  # noqa: BLE001 - shown below
                said = str(error)
                if "the broker" not in said and "the cluster is ending" not in said:
                    wrong.append(error)
                return

    for _ in range(5):
        b = test_broker()
        with b:
            verbs: list[Callable[[], object]] = [
                b.topics,
                b.reset,
                b.clean_now,
                lambda b=b: b.bootstrap,
                lambda b=b: (b.stop_node(1), b.start_node(1)),
            ]
            threads = [threading.Thread(target=ask, args=(b, verb)) for verb in verbs]
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join(BOUND_SECONDS)
            assert not thread.is_alive()
    assert wrong == []


def test_a_forked_process_has_no_loop_to_call() -> None:
    """It is told so, and its end takes nothing away from the process that has the broker."""
    with test_broker() as b:
        b.create_topic("t")
        child = os.fork()
        if child == 0:
            try:
                b.topics()
            except RuntimeError as error:
                os._exit(0 if "another process" in str(error) else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(b.topics()) == 1
