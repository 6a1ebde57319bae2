"""One at a time, for each key; nothing is left of keys that nobody wants."""

from __future__ import annotations

import trio
import trio.testing

from kafkalite.group_coordinator.turns import Turns


async def test_one_at_a_time_for_each_key(autojump_clock: object) -> None:
    turns, seen = Turns(), list[str]()

    async def take(key: str, name: str) -> None:
        async with turns.of(key):
            seen.append(name)
            await trio.sleep(1)
            seen.append(name)

    async with trio.open_nursery() as nursery:
        for key, name in (("a", "1"), ("a", "2"), ("b", "3")):
            nursery.start_soon(take, key, name)
            await trio.testing.wait_all_tasks_blocked()
    assert [each for each in seen if each != "3"] == ["1", "1", "2", "2"]
    assert seen.index("3") < seen.index("2"), "another key does not wait"
    assert len(turns) == 0


async def test_the_next_has_its_turn_when_one_fails_or_gives_up(autojump_clock: object) -> None:
    turns = Turns()

    async def fail() -> None:
        async with turns.of("a"):
            await trio.sleep(1)
            raise ValueError

    async with trio.open_nursery() as nursery:

        async def failing() -> None:
            try:
                await fail()
            except ValueError:
                return

        nursery.start_soon(failing)
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(0.5) as gave_up:
            async with turns.of("a"):
                raise AssertionError("its turn came too early")
        assert gave_up.cancelled_caught
        async with turns.of("a"):
            assert trio.current_time() > 0
    assert len(turns) == 0
