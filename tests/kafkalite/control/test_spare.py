"""A spare is opened once, taken once, and let go where its addresses are not those asked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import trio

from kafkalite.control.core import Core
from kafkalite.control.spare import Spare


def listener(port: int = 9092) -> Any:
    return SimpleNamespace(node_id=1, name="A", advertised_host="h", advertised_port=port)


class Cores:
    """Opens cores, and says what became of them."""

    def __init__(self) -> None:
        self.opened = 0
        self.given_up = 0

    def opening(self) -> Any:
        return self.open

    def open(self) -> Core:
        self.opened += 1
        broker: Any = SimpleNamespace(listeners=[listener()], took=None)
        broker.take_listeners = lambda listeners: setattr(broker, "took", listeners)
        core: Any = SimpleNamespace(broker=broker, give_up=self.give_up)
        return core  # type: ignore[no-any-return]  # a stand-in

    def give_up(self) -> None:
        self.given_up += 1


async def test_a_spare_is_there_once() -> None:
    cores = Cores()
    spare = Spare(cores.opening)
    assert spare.take([listener()]) is None
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(spare.open)
    await spare.open()
    assert cores.opened == 1
    wanted = [listener()]
    taken: Any = spare.take(wanted)
    assert taken.broker.took is wanted
    assert spare.take(wanted) is None
    assert cores.given_up == 0


async def test_one_with_other_addresses_is_let_go() -> None:
    cores = Cores()
    spare = Spare(cores.opening)
    await spare.open()
    assert spare.take([listener(9093)]) is None
    assert cores.given_up == 1
    assert spare.take([listener()]) is None


async def test_there_may_be_none() -> None:
    spare = Spare(lambda: None)
    await spare.open()
    assert spare.take([listener()]) is None


@pytest.mark.parametrize("is_on_its_way", [False, True])
async def test_the_end_lets_it_go(is_on_its_way: bool) -> None:
    cores = Cores()
    spare = Spare(cores.opening)
    if is_on_its_way:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(spare.open)
            await trio.lowlevel.checkpoint()
            spare.close()
    else:
        await spare.open()
        spare.close()
    assert (cores.opened, cores.given_up) == (1, 1)
    assert spare.take([listener()]) is None
