"""The machine's clock: what is written, and how long silence lasts."""

from __future__ import annotations

import time

import trio
import trio.testing

from kafkalite.clock import SystemClock, wall_clock_ms


def test_what_is_written_is_the_wall_clock_s_time() -> None:
    before = time.time() * 1000
    now = wall_clock_ms()
    assert before - 1 <= now <= time.time() * 1000
    assert SystemClock().now_ms is wall_clock_ms


async def test_silence_lasts_by_trio_s_clock(autojump_clock: trio.testing.MockClock) -> None:
    clock = SystemClock()
    before = clock.time()
    await trio.sleep(60)
    assert clock.time() == before + 60
    assert clock.trio_deadline(before + 90) == trio.current_time() + 30


def test_another_s_functions_may_be_used() -> None:
    clock = SystemClock(lambda: 5, lambda: 7.0)
    assert (clock.now_ms(), clock.time()) == (5, 7.0)


def test_it_is_never_set() -> None:
    told: list[bool] = []
    SystemClock().subscribe(lambda: told.append(True))
    assert told == []
