"""Questions to one broker: one request at a time, many in it."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.coordinators.virtual_coordinator import COORDINATOR, World


@pytest.fixture
async def world(autojump_clock: MockClock, nursery: trio.Nursery) -> World:
    return World(nursery)


async def test_those_that_come_meanwhile_go_together(
    autojump_clock: MockClock, world: World
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.join, "first")
        await trio.sleep(0.2)
        for name in ("a", "b", "a"):
            nursery.start_soon(world.join, name)
    sent = [{each.transactional_id for each in one.transactions} for one in world.coordinator.asked]
    assert sent == [{"first"}, {"a", "b"}, {"a"}], "no id twice in a request"


async def test_who_gives_up_does_not_take_the_others_along(
    autojump_clock: MockClock, world: World
) -> None:
    answers: list[list[ErrorCode]] = []

    async def other() -> None:
        await trio.sleep(0.1)
        answers.append(await world.join("other"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        with trio.move_on_after(0.2):
            await world.join("gone")
    assert answers == [[ErrorCode.NONE, ErrorCode.NONE]]


async def test_without_an_answer_all_that_went_together_hear_of_it(
    autojump_clock: MockClock, world: World
) -> None:
    answers: list[list[ErrorCode]] = []

    async def join(name: str) -> None:
        answers.append(await world.join(name))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(join, "first")
        await trio.sleep(0.2)
        for name in ("a", "b"):
            nursery.start_soon(join, name)
        await trio.sleep(0.1)
        world.network.stop(COORDINATOR)
    assert answers == [[ErrorCode.NETWORK_EXCEPTION] * 2] * 3
