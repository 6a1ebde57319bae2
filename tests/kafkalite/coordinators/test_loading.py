"""Coordinators' partitions are loaded one after the other, while others have their turn."""

from __future__ import annotations

from time import sleep

import pytest
import trio
import trio.lowlevel

from kafkalite.coordinators import loading
from kafkalite.coordinators.loading import Loader
from kafkalite.requests.slices import SLICE_SECONDS, Steps


async def test_partitions_are_loaded_in_order_and_others_go_on_meanwhile() -> None:
    done: list[str] = []

    def steps(name: str, count: int) -> Steps[None]:
        for _ in range(count):
            sleep(SLICE_SECONDS * 2)
            yield
        done.append(name)

    async def other() -> None:
        while True:
            await trio.lowlevel.checkpoint()
            done.append("other")

    loader = Loader()
    loader.load(steps("first", 3))
    loader.load(steps("second", 1))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(loader.run)
        nursery.start_soon(other)
        while "second" not in done:
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    assert done.index("first") < done.index("second")
    assert "other" in done[: done.index("first")]


async def test_a_prompt_loader_loads_at_once_what_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    now = [0.0]
    monkeypatch.setattr(loading, "monotonic", lambda: now[0])

    def steps(name: str, seconds: float, count: int = 3) -> Steps[None]:
        for _ in range(count):
            now[0] += seconds
            yield
        done.append(name)

    loader = Loader(0.05)
    loader.load(steps("quick", 0))
    loader.load(steps("slow", 0.02, count=20))
    loader.load(steps("quick, too", 0))
    assert done == ["quick", "quick, too"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(loader.run)
        while "slow" not in done:
            await trio.lowlevel.checkpoint()
        nursery.cancel_scope.cancel()
    # Its time is used up.
    loader.load(steps("slow again", 0.01))
    assert done[-1] == "slow"
