"""Requests that are held go when they are released, the one that waited longest first."""

from __future__ import annotations

import trio
import trio.testing

from kafkalite.control.faults.book import RuleBook, RuleState
from kafkalite.control.faults.holds import Holds
from kafkalite.control.faults.rule import Action, Rule


def rule_state(rule_id: str = "h") -> RuleState:
    return RuleBook(lambda: 0).add(Rule(id=rule_id, do=(Action(hold=True),)))


class Held:
    """Requests that are held by one rule, each with its number."""

    def __init__(self, holds: Holds, nursery: trio.Nursery) -> None:
        self.holds = holds
        self.nursery = nursery
        self.gone: list[str] = []

    async def hold(self, state: RuleState, *names: str) -> None:
        for name in names:
            self.nursery.start_soon(self._hold, state, name)
            await trio.testing.wait_all_tasks_blocked()

    async def _hold(self, state: RuleState, name: str) -> None:
        await self.holds.hold(state, object())
        self.gone.append(name)


async def test_the_longest_wait_ends_first(autojump_clock: object) -> None:
    holds, state = Holds(), rule_state()
    async with trio.open_nursery() as nursery:
        held = Held(holds, nursery)
        await held.hold(state, "a", "b", "c")
        assert (state.held, held.gone) == (3, [])
        assert holds.release("h", 1) == 1
        await trio.testing.wait_all_tasks_blocked()
        assert (state.held, held.gone) == (2, ["a"])
        assert holds.release("h") == 2
        assert holds.release("h") == 0
    assert (state.held, sorted(held.gone)) == (0, ["a", "b", "c"])


async def test_a_release_is_of_one_rule(autojump_clock: object) -> None:
    holds, one, other = Holds(), rule_state("one"), rule_state("other")
    async with trio.open_nursery() as nursery:
        held = Held(holds, nursery)
        await held.hold(one, "a")
        await held.hold(other, "b")
        assert holds.release("none") == 0
        assert holds.release("other") == 1
        await trio.testing.wait_all_tasks_blocked()
        assert held.gone == ["b"]
        holds.release_all()
    assert held.gone == ["b", "a"]


async def test_a_client_that_hangs_up_is_held_no_more(autojump_clock: object) -> None:
    holds, state = Holds(), rule_state()
    with trio.move_on_after(1):
        await holds.hold(state, object())
    assert state.held == 0
    assert holds.release("h") == 0


async def test_those_who_wait_are_told_of_both(autojump_clock: object) -> None:
    holds, state = Holds(), rule_state()
    told: list[int] = []

    def changed() -> None:
        told.append(state.held)

    holds.subscribe(changed)
    async with trio.open_nursery() as nursery:
        await Held(holds, nursery).hold(state, "a")
        assert told == [1]
        holds.release_all()
    assert told == [1, 0]
    holds.unsubscribe(changed)
    with trio.move_on_after(1):
        await holds.hold(state, object())
    assert told == [1, 0]
