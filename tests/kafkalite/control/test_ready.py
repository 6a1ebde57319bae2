"""A thing is made in advance once, taken once, and let go where it does not fit."""

from __future__ import annotations

from collections.abc import Callable

import trio

from kafkalite.control.ready import Ready


class Made:
    def __init__(self) -> None:
        self.count = 0
        self.let_go: list[int] = []
        self.may_be = True

    def opening(self) -> Callable[[], int | None] | None:
        return self.open if self.may_be else None

    def open(self) -> int | None:
        self.count += 1
        return self.count if self.may_be else None


async def test_it_is_there_once() -> None:
    made = Made()
    ready = Ready(made.opening, made.let_go.append)
    assert ready.take_if(lambda _: True) is None
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(ready.open)
    await ready.open()
    assert made.count == 1
    assert ready.take_if(lambda each: each == 1) == 1
    assert ready.take_if(lambda _: True) is None
    assert made.let_go == []


async def test_what_does_not_fit_is_let_go() -> None:
    made = Made()
    ready = Ready(made.opening, made.let_go.append)
    await ready.open()
    assert ready.take_if(lambda _: False) is None
    assert made.let_go == [1]
    assert not ready.discard()
    await ready.open()
    assert ready.discard()
    assert made.let_go == [1, 2]


async def test_there_may_be_none() -> None:
    made = Made()
    ready = Ready(made.opening, made.let_go.append)
    made.may_be = False
    await ready.open()
    assert ready.take_if(lambda _: True) is None
    made.may_be = True
    await ready.open()
    assert ready.take_if(lambda _: True) == 1


async def test_one_on_its_way_is_let_go_after_the_close() -> None:
    made = Made()
    ready = Ready(made.opening, made.let_go.append)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ready.open)
        await trio.testing.wait_all_tasks_blocked()
        ready.close()
    assert made.let_go == [1]


async def test_one_on_its_way_gives_way_once_it_is_made() -> None:
    made = Made()
    ready = Ready(made.opening, made.let_go.append)
    assert not await ready.give_way()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ready.open)
        await trio.testing.wait_all_tasks_blocked()
        assert await ready.give_way()
    assert made.let_go == [1]
    assert ready.take_if(lambda _: True) is None
