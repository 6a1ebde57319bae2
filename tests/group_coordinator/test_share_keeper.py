"""The share coordinator of this process: asked at once; its refusals are told by partition."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import Any
from uuid import UUID

import pytest
import trio

from kafkalite.group_coordinator.share_keeper import LocalKeeper, count_of, finished
from kafkalite.wire.errors import ErrorCode
from tests.group_coordinator.in_memory import ShareStates

T, U = UUID(int=1), UUID(int=2)


def test_states_are_kept_next_door() -> None:
    states = ShareStates()
    keeper = LocalKeeper(states)
    assert finished(keeper.initialize_states("g", 3, {T: {0: 5, 1: -1}, U: {0: 7}})) == {}
    assert states.kept == {("g", T, 0): (3, 5), ("g", T, 1): (3, -1), ("g", U, 0): (3, 7)}
    assert finished(keeper.seen("g", {T: [0]})) is keeper.seen_here is states
    assert finished(keeper.delete_states("g", {T: [0, 1]})) == {}
    assert list(states.kept) == [("g", U, 0)]


def test_refusals_are_told_by_partition() -> None:
    keeper = LocalKeeper(ShareStates(failure=ErrorCode.FENCED_STATE_EPOCH))
    for asked in (
        keeper.initialize_states("g", 3, {T: {0: 5}, U: {1: 7}}),
        keeper.delete_states("g", {T: [0], U: [1]}),
    ):
        codes = {where: error.code for where, error in finished(asked).items()}
        fenced = ErrorCode.FENCED_STATE_EPOCH
        assert codes == {(T, 0): fenced, (U, 1): fenced}


def test_soon_is_now() -> None:
    done: list[int] = []

    async def work() -> None:
        done.append(1)

    LocalKeeper(ShareStates()).soon(work, 1)
    assert done == [1]


class InTask:
    """Work that was started, and the steps that were taken."""

    def __init__(self) -> None:
        self.started: list[Any] = []
        self.step_count = 0

    def start(self, work: Any) -> None:
        self.started.append(work)

    async def in_slices(self, steps: Any) -> Any:
        while True:
            try:
                wait = next(steps)
            except StopIteration as done:
                return done.value
            self.step_count += 1
            if wait is not None:
                await trio.to_thread.run_sync(wait)
            await trio.lowlevel.checkpoint()


async def test_many_are_asked_about_in_slices() -> None:
    states, in_task = ShareStates(), InTask()
    keeper = LocalKeeper(states, in_task)
    many = {T: dict.fromkeys(range(200), -1), U: dict.fromkeys(range(57), -1)}

    async def work() -> None:
        assert await keeper.initialize_states("g", 3, many) == {}

    keeper.soon(work, count_of(many))
    assert states.kept == {}
    (started,) = in_task.started
    await started()
    assert len(states.kept) == in_task.step_count == 257
    assert await keeper.delete_states("g", many) == {}
    assert (states.kept, in_task.step_count) == ({}, 2 * 257)
    few = {T: dict.fromkeys(range(200), -1)}
    assert finished(keeper.initialize_states("g", 3, few)) == {}


class Loading:
    """States that are being loaded until somebody has waited for them."""

    is_under_way = True

    async def ended(self) -> None:
        self.is_under_way = False


async def test_states_that_are_being_loaded_are_waited_for() -> None:
    states, in_task, loading = ShareStates(), InTask(), Loading()
    keeper = LocalKeeper(states, in_task, loading)

    async def work() -> None:
        assert await keeper.initialize_states("g", 3, {T: {0: 5}}) == {}

    keeper.soon(work, 1)
    assert (states.kept, loading.is_under_way) == ({}, True)
    (started,) = in_task.started
    await started()
    assert (len(states.kept), loading.is_under_way) == (1, False)
    assert finished(keeper.delete_states("g", {T: [0]})) == {}


async def test_steps_about_many_are_taken_one_by_one() -> None:
    in_task = InTask()
    for keeper, count, taken in (
        (LocalKeeper(ShareStates(), in_task), 257, 3),
        (LocalKeeper(ShareStates(), in_task), 256, 0),
        (LocalKeeper(ShareStates()), 257, 0),
    ):
        in_task.step_count = 0
        assert await keeper.in_steps(three_steps(), count) == "done"
        assert in_task.step_count == taken


def three_steps() -> Generator[None, None, str]:
    yield
    yield
    yield
    return "done"


@pytest.mark.parametrize("in_task", [InTask(), None])
async def test_a_thread_does_long_work_of_a_task(in_task: InTask | None) -> None:
    threads: list[threading.Thread] = []
    await LocalKeeper(ShareStates(), in_task).by_thread(
        lambda: threads.append(threading.current_thread())
    )
    (thread,) = threads
    assert (thread is threading.main_thread()) == (in_task is None)


async def test_what_never_waits_must_not() -> None:
    async def work() -> None:
        await trio.sleep(1)

    with pytest.raises(RuntimeError, match="never has to wait"):
        finished(work())
