"""Long work of many tasks: between two of its slices the loop and all others have a turn."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from kafkalite.requests import slices
from kafkalite.requests.slice_turn import SliceTurn, slice_turn
from kafkalite.requests.slices import WaitingSteps, in_slices_of_task


class Rounds(trio.abc.Instrument):
    """The steps that were taken in each round of trio's, in which every task may have a turn."""

    def __init__(self, taken: list[str]) -> None:
        self._taken = taken
        self._before = 0
        self.steps: list[int] = []

    def after_io_wait(self, timeout: float) -> None:
        self.steps.append(len(self._taken) - self._before)
        self._before = len(self._taken)


async def test_one_slice_in_a_round_however_many_tasks_have_long_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A step takes 2 ms, so that a slice has two."""
    now = 0.0
    monkeypatch.setattr(slices, "monotonic", lambda: now)
    taken: list[str] = []

    def steps(name: str) -> WaitingSteps[str]:
        nonlocal now
        for _ in range(9):
            now += 0.002
            taken.append(name)
            yield None
        return name

    results: list[str] = []

    async def work(name: str) -> None:
        results.append(await in_slices_of_task(steps(name)))

    rounds = Rounds(taken)
    trio.lowlevel.add_instrument(rounds)
    async with trio.open_nursery() as nursery:
        for name in "abcde":
            nursery.start_soon(work, name)
    trio.lowlevel.remove_instrument(rounds)
    assert sorted(results) == list("abcde")
    busy = [steps for steps in rounds.steps if steps]
    assert busy[0] == 4  # two begin within 3 ms, and there is a slice
    assert max(busy[1:]) == 2
    first_come = taken[4:14:2]
    assert sorted(first_come) == list("abcde")
    assert taken[14:24:2] == first_come


async def test_many_tasks_that_begin_together_hold_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each has brief work. It is begun anew in every round."""
    now = 0.0
    monkeypatch.setattr(slices, "monotonic", lambda: now)
    taken: list[str] = []

    def steps() -> WaitingSteps[None]:
        nonlocal now
        now += 0.001
        taken.append("step")
        yield None

    rounds = Rounds(taken)
    trio.lowlevel.add_instrument(rounds)
    for _ in range(2):
        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(in_slices_of_task, steps())
        assert len(taken) % 20 == 0
    trio.lowlevel.remove_instrument(rounds)
    assert max(rounds.steps) == 4
    assert rounds.steps.count(4) == 2


async def test_it_is_handed_over_to_who_has_waited_longest() -> None:
    turn = SliceTurn()
    took: list[int] = []

    async def take(number: int) -> None:
        await turn.take()
        took.append(number)
        turn.give_back()

    async with trio.open_nursery() as nursery:
        await turn.take()
        for number in range(3):
            nursery.start_soon(take, number)
            await trio.testing.wait_all_tasks_blocked()
        assert not took
        turn.give_back()
    assert took == [0, 1, 2]


async def test_a_task_that_is_cancelled_while_it_waits_leaves_the_turn_to_others() -> None:
    turn = SliceTurn()

    async def wait(scope: trio.CancelScope) -> None:
        with scope:
            await turn.take()

    await turn.take()
    async with trio.open_nursery() as nursery:
        scope = trio.CancelScope()
        nursery.start_soon(wait, scope)
        await trio.testing.wait_all_tasks_blocked()
        scope.cancel()
    assert scope.cancelled_caught
    turn.give_back()
    await turn.take()
    turn.give_back()


async def test_work_that_fails_or_is_cancelled_gives_its_turn_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(slices, "monotonic", lambda: now)

    def failing(left: int) -> WaitingSteps[None]:
        nonlocal now
        for _ in range(left):
            now += 0.004
            yield None
        raise OSError("fault")

    with pytest.raises(OSError, match="fault"):
        await in_slices_of_task(failing(3))
    with trio.CancelScope() as scope:
        scope.cancel()
        await in_slices_of_task(failing(5))
    assert scope.cancelled_caught
    with trio.fail_after(5):
        await slice_turn().take()
    slice_turn().give_back()


def test_each_run_of_trio_has_its_own() -> None:
    async def of_run() -> SliceTurn:
        assert slice_turn() is slice_turn()
        return slice_turn()

    assert trio.run(of_run) is not trio.run(of_run)
