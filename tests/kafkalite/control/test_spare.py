"""A spare is opened once, taken once, and let go where its addresses are not those asked for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import trio

from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.core import Core
from kafkalite.control.spare import Spare
from kafkalite.faults import errno
from kafkalite.server.listener import StartError
from kafkalite.testing import broker
from tests.kafkalite.until import until


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


async def test_there_is_one_before_the_first_reset() -> None:
    async with broker(profile="test") as k:
        spare = k._default._spare
        assert not spare.was_tried
        await k.asynchronous.spy("off")  # any verb
        await until(lambda: spare._there is not None)
        waiting = spare._there
        await k.asynchronous.reset()
        assert k._default.core is waiting


async def test_one_that_cannot_be_opened_ends_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[None] = []

    def fail(*_: object, **__: object) -> Core:
        tried.append(None)
        raise StartError("no space")

    async with broker(profile="test") as k:
        with monkeypatch.context() as patch:
            patch.setattr(ControlledCluster, "_open", fail)
            await k.asynchronous.spy("off")
            await until(lambda: bool(tried))
            await until(lambda: k._default._spare._opened is None)
            for _ in range(3):
                await k.asynchronous.spy("off")
                await trio.sleep(0.05)
            assert len(tried) == 1  # a disk that is full is told of once
        await k.asynchronous.reset()
        k.create_topic("t")
        await until(lambda: k._default._spare._there is not None)


async def test_a_mistake_of_ours_is_told_and_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(_: Spare) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Spare, "open", fail)
    with pytest.RaisesGroup(ZeroDivisionError, flatten_subgroups=True), trio.fail_after(20):
        async with broker(profile="test") as k:
            await k.asynchronous.spy("off")
            await trio.sleep_forever()


async def test_faults_of_the_disk_are_not_for_it() -> None:
    async with broker(profile="test") as k:
        of_spare = {"disk": ["open", "write"], "file": "*/state-2/*"}
        await k.asynchronous.fault(**of_spare, do=errno("EIO"), optional=True)
        await until(lambda: k._default._spare._there is not None)
        (rule,) = await k.asynchronous.faults.list()
        assert rule.matched == 0
