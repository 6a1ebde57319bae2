"""Silence in modern groups: sessions, and a log that cannot be written when one ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

from kafkalite.wire.errors import ErrorCode
from tests.group_coordinator.conftest import World
from tests.group_coordinator.share_consumers import ShareConsumer
from tests.group_coordinator.streams_instances import Instance

Beat = Callable[[], Awaitable[int]]


def member_of(world: World, group_type: str) -> tuple[str, Beat]:
    """A member's group, and its heartbeat."""
    if group_type == "consumer":
        return "group", world.consumer().beat
    made: Any = ShareConsumer(world, "a") if group_type == "share" else Instance(world, "a")

    async def beat() -> int:
        return made.beat()

    return ("queue" if group_type == "share" else "app"), beat


@pytest.mark.parametrize("group_type", ["consumer", "share", "streams"])
async def test_a_member_has_its_session_timeout(autojump_clock, world, group_type):
    group_id, beat = member_of(world, group_type)
    for _ in range(3):
        assert await beat() == ErrorCode.NONE
        await trio.sleep(44.9)
    assert len(world.group(group_id).members) == 1
    await trio.sleep(0.2)
    assert world.group(group_id).is_empty
    assert world.group(group_id).timers == {}


@pytest.mark.parametrize("group_type", ["consumer", "share", "streams"])
async def test_a_member_stays_until_its_end_can_be_written(autojump_clock, world, group_type):
    """The partition is loaded anew then, so that its session begins anew, too."""
    group_id, beat = member_of(world, group_type)
    assert await beat() == ErrorCode.NONE
    world.log.failure = ErrorCode.NOT_COORDINATOR
    await trio.sleep(46)
    assert len(world.group(group_id).members) == 1
    world.log.failure = None
    await trio.sleep(45)
    assert world.group(group_id).is_empty
