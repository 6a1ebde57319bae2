"""A request that waits for its response."""

from __future__ import annotations

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kafkalite.group_coordinator.pending_response import Parked


async def test_a_response_that_is_there_needs_no_waiting() -> None:
    parked: Parked[int] = Parked()
    parked.answer(7)
    with trio.fail_after(0):
        assert await parked.response() == 7


async def test_the_waiting_request_gets_the_response(autojump_clock: MockClock) -> None:
    parked: Parked[int] = Parked()
    got: list[int] = []

    async def wait() -> None:
        got.append(await parked.response())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await wait_all_tasks_blocked()
        assert got == []
        parked.answer(7)
    assert got == [7]
