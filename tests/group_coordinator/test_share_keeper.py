"""The share coordinator next door: asked at once, and what it refuses is told by partition."""

from __future__ import annotations

from uuid import UUID

import pytest
import trio

from kafkalite.group_coordinator.share_keeper import KeeperNextDoor, finished
from kafkalite.wire.errors import ErrorCode
from tests.group_coordinator.in_memory import ShareStates

T, U = UUID(int=1), UUID(int=2)


def test_states_are_kept_next_door() -> None:
    states = ShareStates()
    keeper = KeeperNextDoor(states)
    assert finished(keeper.initialize_states("g", 3, {T: {0: 5, 1: -1}, U: {0: 7}})) == {}
    assert states.kept == {("g", T, 0): (3, 5), ("g", T, 1): (3, -1), ("g", U, 0): (3, 7)}
    assert finished(keeper.seen("g", {T: [0]})) is keeper.next_door is states
    assert finished(keeper.delete_states("g", {T: [0, 1]})) == {}
    assert list(states.kept) == [("g", U, 0)]


def test_refusals_are_told_by_partition() -> None:
    keeper = KeeperNextDoor(ShareStates(failure=ErrorCode.FENCED_STATE_EPOCH))
    for asked in (
        keeper.initialize_states("g", 3, {T: {0: 5}, U: {1: 7}}),
        keeper.delete_states("g", {T: [0], U: [1]}),
    ):
        codes = {where: error.code for where, error in finished(asked).items()}
        fenced = ErrorCode.FENCED_STATE_EPOCH
        assert codes == {(T, 0): fenced, (U, 1): fenced}


def test_soon_is_now() -> None:
    done: list[int] = []

    async def work() -> None:
        done.append(1)

    KeeperNextDoor(ShareStates()).soon(work)
    assert done == [1]


async def test_what_never_waits_must_not() -> None:
    async def work() -> None:
        await trio.sleep(1)

    with pytest.raises(RuntimeError, match="never has to wait"):
        finished(work())
