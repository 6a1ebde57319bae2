"""Long work in slices: others have their turn, and the garbage collector waits."""

from __future__ import annotations

import gc
from typing import Any

import pytest

from kafkalite.requests import slices
from kafkalite.requests.slices import Steps, at_once, in_slices, release, release_set
from tests.kafkalite.server.one_dispatcher import OneDispatcher, one_dispatcher


class Clock:
    """The time that work takes, in seconds."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(slices, "monotonic", made)
    return made


def counting(steps: int, clock: Clock | None = None, seconds: float = 0.0) -> Steps[int]:
    """Yields so often, after so much work each time; returns how often."""
    for _ in range(steps):
        if clock is not None:
            clock.now += seconds
        yield
    return steps


def test_work_that_is_known_to_be_short_is_done_at_once() -> None:
    assert at_once(counting(3)) == 3


class Turns:
    """A connection's context that counts the turns of others."""

    def __init__(self, asked: OneDispatcher) -> None:
        self.context: Any = asked.connection().context
        self.context.connection.move_to_task = self._move
        self.context.connection.yield_turn = self._yield
        self.moved = False
        self.given = 0
        self.thresholds: set[int] = set()

    async def _move(self) -> None:
        self.moved = True

    async def _yield(self) -> None:
        assert self.moved, "the loop has no turn to give before the task has it"
        self.given += 1
        self.thresholds.add(gc.get_threshold()[2])


async def test_short_work_gives_no_turn() -> None:
    with one_dispatcher() as asked:
        turns = Turns(asked)
        assert await in_slices(counting(10), turns.context) == 10
        assert (turns.moved, turns.given) == (True, 0)


async def test_long_work_gives_turns_between_its_slices_and_one_at_the_end(clock: Clock) -> None:
    with one_dispatcher() as asked:
        turns = Turns(asked)
        assert await in_slices(counting(3, clock, 0.004), turns.context) == 3
        assert turns.given == 4


async def test_meanwhile_the_garbage_collector_does_not_go_through_all_objects(
    clock: Clock,
) -> None:
    before = gc.get_threshold()
    with one_dispatcher() as asked:
        turns = Turns(asked)
        await in_slices(counting(1, clock, 0.004), turns.context)
    assert turns.thresholds == {1_000_000}
    assert gc.get_threshold() == before


async def test_work_that_fails_leaves_the_collector_as_it_was() -> None:
    def failing() -> Steps[None]:
        yield
        raise ValueError("broken")

    before = gc.get_threshold()
    with one_dispatcher() as asked:
        turns = Turns(asked)
        with pytest.raises(ValueError, match="broken"):
            await in_slices(failing(), turns.context)
    assert gc.get_threshold() == before


def test_lists_are_emptied_little_by_little() -> None:
    many, few = list(range(1200)), [1]
    steps = release((many, "not a list", few, None))
    left: list[int] = []
    for _ in steps:
        left.append(len(many) + len(few))
    assert left == [689, 177, 1, 0]


def test_lists_within_lists() -> None:
    inner = list(range(600))
    rows = [("name", inner), ("other", None)]
    assert len(list(release((rows,), inner=True))) == 3
    assert (rows, inner) == ([], [])
    kept = [1]
    list(release(([("name", kept)],)))
    assert kept == [1]


def test_sets_are_emptied_little_by_little() -> None:
    values = set(range(1200))
    left: list[int] = []
    for _ in release_set(values):
        left.append(len(values))
    assert left == [688, 176, 0]
