"""A cluster's clock: moved, frozen, skewed and set back."""

from __future__ import annotations

import pytest
import trio

from kafkalite.clock import wall_clock_ms
from kafkalite.control.clock import ClusterClock


async def test_both_kinds_move_and_only_the_wall_clock_is_skewed(autojump_clock: object) -> None:
    clock = ClusterClock()
    began, began_ms = clock.time(), clock.now_ms()
    clock.forward(46)
    assert clock.time() - began == 46
    assert 46_000 <= clock.now_ms() - began_ms < 47_000
    clock.skew(-3_600_000)
    assert clock.time() - began == 46
    assert clock.now_ms() < wall_clock_ms() - 3_500_000
    assert clock.trio_deadline(clock.time() + 5) == trio.current_time() + 5
    clock.reset()
    assert abs(clock.now_ms() - wall_clock_ms()) < 100
    assert clock.time() - began == 46


async def test_a_frozen_clock_stands_and_can_be_moved(autojump_clock: object) -> None:
    clock = ClusterClock()
    told: list[bool] = []
    clock.subscribe(lambda: told.append(clock.is_frozen))
    clock.freeze()
    began, began_ms = clock.time(), clock.now_ms()
    await trio.sleep(100)
    assert (clock.time(), clock.now_ms()) == (began, began_ms)
    assert clock.trio_deadline(began) == float("inf")
    clock.forward(5)
    assert (clock.time(), clock.now_ms()) == (began + 5, began_ms + 5000)
    clock.run()
    assert clock.time() == began + 5
    await trio.sleep(1)
    assert clock.time() == pytest.approx(began + 6)
    assert told == [True, True, False]


async def test_a_jump_is_told_at_its_end(autojump_clock: object) -> None:
    clock = ClusterClock()
    began, told = clock.time(), list[float]()
    clock.subscribe(lambda: told.append(clock.time()))
    clock.step(3)
    clock.step(4)
    assert told == []
    clock.forward(5)
    assert told == [began + 12]


async def test_a_jump_is_exact_however_many_steps_it_has(autojump_clock: object) -> None:
    """Deadlines lie between the milliseconds."""
    clock = ClusterClock()
    clock.freeze()
    began, began_ms = clock.time(), clock.now_ms()
    for _ in range(3):
        clock.step(0.0005)
    clock.forward(began + 3600 - clock.time())
    assert clock.time() == pytest.approx(began + 3600)
    assert clock.now_ms() == began_ms + 3_600_000
    for _ in range(1000):
        clock.step(0.0004)
    assert clock.now_ms() == began_ms + 3_600_400
