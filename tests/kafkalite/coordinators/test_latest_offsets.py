"""The ends of partitions are asked from their leaders."""

from __future__ import annotations

from uuid import UUID

import pytest
import trio
from trio.testing import MockClock

from kafkalite.coordinators import latest_offsets
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.coordinators.virtual_share_coordinator import COORDINATOR, READ_ID, World


@pytest.fixture
async def world(autojump_clock: MockClock, nursery: trio.Nursery) -> World:
    return World(nursery)


async def found(world: World) -> list[int | ErrorCode]:
    """The ends of the topic's four partitions, of one too many, and of one of no topic."""
    wanted = [(READ_ID, index) for index in range(5)] + [(UUID(int=6), 0)]
    outcomes = await world.latest_offsets.find(wanted)
    known = [outcomes[where] for where in wanted]
    return [each.code if isinstance(each, KafkaError) else each for each in known]


async def test_each_has_its_end_or_the_reason_why_not(
    autojump_clock: MockClock, world: World
) -> None:
    assert await found(world) == [
        400,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    (asked,) = world.coordinator.ends
    assert asked.replica_id == -1, "what followers lack is not seen"
    assert {each.timestamp for topic in asked.topics for each in topic.partitions} == {-1}


async def test_a_leader_that_is_gone_does_not_answer(
    autojump_clock: MockClock, world: World
) -> None:
    world.network.stop(COORDINATOR)
    began = trio.current_time()
    assert (await found(world))[:2] == [ErrorCode.NETWORK_EXCEPTION] * 2
    assert trio.current_time() - began >= 31


async def test_a_leader_that_comes_back_is_asked_again(
    autojump_clock: MockClock, world: World, nursery: trio.Nursery
) -> None:
    server = world.network.servers.pop(COORDINATOR)

    async def come_back() -> None:
        await trio.sleep(2)
        world.network.servers[COORDINATOR] = server

    nursery.start_soon(come_back)
    assert (await found(world))[:2] == [400, ErrorCode.NOT_LEADER_OR_FOLLOWER]


async def test_very_many_are_asked_for_in_several_requests(
    autojump_clock: MockClock, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = await found(world)
    (asked,) = world.coordinator.ends
    monkeypatch.setattr(latest_offsets, "batches", lambda items: [[item] for item in items])
    assert await found(world) == at_once
    (_, *parts) = world.coordinator.ends
    indexes = [p.partition_index for part in parts for t in part.topics for p in t.partitions]
    assert indexes == [p.partition_index for t in asked.topics for p in t.partitions] == [0, 1]
    assert len(parts) == 2
