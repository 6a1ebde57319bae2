"""A coordinator's answers wait for what they rest on; virtual time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.replica.replicated import ME, OTHER
from tests.kafkalite.server.coordinating import (
    FETCH,
    PATIENCE_SECONDS,
    REQUESTS,
    Coordinating,
    committed,
    coordinating_in,
)


@pytest.fixture
async def coordinating(tmp_path: Path) -> AsyncIterator[Coordinating]:
    async with coordinating_in(tmp_path) as made:
        yield made


async def test_a_commit_is_answered_once_the_followers_have_it(
    autojump_clock: MockClock, coordinating: Coordinating
) -> None:
    async with trio.open_nursery() as nursery:
        codes: list[ErrorCode] = []

        async def ask() -> None:
            codes.append(await committed(coordinating))

        nursery.start_soon(ask)
        await wait_all_tasks_blocked()
        assert (coordinating.partition.log.log_end_offset, codes) == (1, [])
        coordinating.copy()
        await wait_all_tasks_blocked()
        assert codes == [ErrorCode.NONE]


async def test_what_nobody_copies_is_not_answered_with_success(
    autojump_clock: MockClock, coordinating: Coordinating
) -> None:
    began = trio.current_time()
    assert await committed(coordinating) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert trio.current_time() - began >= PATIENCE_SECONDS


async def test_alone_in_sync_it_answers_at_once(
    autojump_clock: MockClock, coordinating: Coordinating
) -> None:
    coordinating.world.change(isr=[ME], replicas=[ME])
    began = trio.current_time()
    assert await committed(coordinating) is ErrorCode.NONE
    assert trio.current_time() - began < 1


async def test_what_is_shown_waits_too(
    autojump_clock: MockClock, coordinating: Coordinating
) -> None:
    """Else a consumer would begin where no later coordinator knows of."""
    await committed(coordinating)
    answer = await coordinating.ask(ApiKey.OFFSET_FETCH, 8, FETCH)
    assert answer.groups[0].error_code == ErrorCode.NOT_COORDINATOR
    assert answer.groups[0].topics == []
    coordinating.copy()
    answer = await coordinating.ask(ApiKey.OFFSET_FETCH, 8, FETCH)
    assert answer.groups[0].topics[0].partitions[0].committed_offset == 7


@pytest.mark.parametrize("back", [False, True])
async def test_it_says_so_when_others_lead_meanwhile(
    autojump_clock: MockClock, coordinating: Coordinating, back: bool
) -> None:
    """Leader once more, it cannot tell what became of the commit."""
    async with trio.open_nursery() as nursery:

        async def move() -> None:
            await trio.sleep(1)
            coordinating.world.change(leader=OTHER)
            if back:
                coordinating.world.change(leader=ME)
                coordinating.copy()

        nursery.start_soon(move)
        assert await committed(coordinating) is ErrorCode.NOT_COORDINATOR
    assert trio.current_time() < PATIENCE_SECONDS


async def test_members_that_are_parked_hear_of_the_move(
    autojump_clock: MockClock, coordinating: Coordinating
) -> None:
    coordinating.copy()
    async with trio.open_nursery() as nursery:

        async def move() -> None:
            await trio.lowlevel.checkpoint()
            coordinating.world.change(leader=OTHER)

        nursery.start_soon(move)
        coordinating.groups.config.group_initial_rebalance_delay_ms = 3000
        answer = await coordinating.ask(ApiKey.JOIN_GROUP, 3, REQUESTS[ApiKey.JOIN_GROUP])
    assert answer.error_code == ErrorCode.NOT_COORDINATOR
