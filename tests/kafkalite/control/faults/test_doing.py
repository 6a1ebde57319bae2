"""A verb that a fault does tells those who wait for it when it is over, however it ends."""

from __future__ import annotations

import math

import pytest
import trio

from kafkalite.control.faults.doing import Doing
from kafkalite.control.problems import Problem
from kafkalite.requests.purgatory import WakeReason, wait_until


@pytest.mark.parametrize("failure", [None, Problem("conflict", "node 2 is not up"), KeyError(2)])
async def test_who_waits_goes_on_when_it_is_over(
    failure: Exception | None, autojump_clock: trio.testing.MockClock
) -> None:
    doing = Doing()

    async def verb() -> None:
        await trio.sleep(5)
        if failure is not None:
            raise failure

    async with trio.open_nursery() as nursery:
        nursery.start_soon(doing.run, verb)
        assert await wait_until(doing.is_over, [doing.watchers], math.inf) is WakeReason.DONE
        assert trio.current_time() == pytest.approx(5)
    assert doing.failure is failure


async def test_it_is_over_when_it_was_cancelled() -> None:
    doing = Doing()
    with trio.move_on_after(0):
        await doing.run(trio.sleep_forever)
    assert doing.is_over()
    assert doing.failure is None
