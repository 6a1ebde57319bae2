"""A parked request goes on when it may, at once, and not before."""

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kafkalite.requests.purgatory import WakeReason, Watchers, wait_until


async def test_true_already() -> None:
    watchers = Watchers()
    assert await wait_until(lambda: True, [watchers], trio.current_time() + 1) is WakeReason.DONE


async def test_woken_by_any_of_the_watched(autojump_clock: MockClock) -> None:
    first, second = Watchers(), Watchers()
    value = 0
    wakes: list[WakeReason] = []

    async def park() -> None:
        wakes.append(await wait_until(lambda: value >= 2, [first, second], 1000))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(park)
        await wait_all_tasks_blocked()
        assert (len(first), len(second)) == (1, 1)
        value = 1
        first.check_and_complete()
        await wait_all_tasks_blocked()
        assert wakes == []
        value = 2
        second.check_and_complete()
    assert wakes == [WakeReason.DONE]
    assert trio.current_time() == 0  # no timer had to fire
    assert (len(first), len(second)) == (0, 0)


async def test_the_deadline(autojump_clock: MockClock) -> None:
    watchers = Watchers()
    assert await wait_until(lambda: False, [watchers], 12.5) is WakeReason.DEADLINE
    assert trio.current_time() == 12.5
    assert len(watchers) == 0


async def test_cancelled_from_outside_leaves_nothing_behind(autojump_clock: MockClock) -> None:
    watchers = Watchers()
    with trio.move_on_after(1) as scope:
        await wait_until(lambda: False, [watchers], 10)
    assert scope.cancelled_caught
    assert len(watchers) == 0
