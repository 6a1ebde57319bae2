"""Share coordinators on other brokers are asked, and asked again while they move."""

from __future__ import annotations

from uuid import UUID

import pytest
import trio
from trio.testing import MockClock

from kafkalite.coordinators.share_state_requests import DELETE, INITIALIZE, SUMMARIZE
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages import delete_share_group_state as deleting
from kafkalite.wire.messages import initialize_share_group_state as initializing
from kafkalite.wire.messages import read_share_group_state_summary as summing_up
from tests.kafkalite.coordinators.virtual_share_coordinator import (
    COORDINATOR,
    KEY,
    READ_ID,
    World,
)


@pytest.fixture
async def world(autojump_clock: MockClock, nursery: trio.Nursery) -> World:
    return World(nursery)


async def initialize(world: World, group_id: str = "g", index: int = 0, topic: int = 5) -> None:
    part = initializing.PartitionData(partition=index, state_epoch=1, start_offset=7)
    key = SharePartitionKey(group_id, UUID(int=topic), index)
    await world.requests.ask(INITIALIZE, key, part)


async def test_each_is_asked_of_its_coordinator(autojump_clock: MockClock, world: World) -> None:
    await initialize(world)
    assert world.coordinator.kept == {(READ_ID, 0): 7}
    summary = summing_up.PartitionData(partition=0, leader_epoch=-1)
    assert (await world.requests.ask(SUMMARIZE, KEY, summary)).start_offset == 7
    await world.requests.ask(DELETE, KEY, deleting.PartitionData(partition=0))
    assert world.coordinator.kept == {}


async def test_those_of_one_group_and_kind_go_together(
    autojump_clock: MockClock, world: World
) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(initialize, world)
        await trio.sleep(0.2)
        for asked in (("g", 1), ("other", 0), ("g", 2), ("g", 0, 6)):
            nursery.start_soon(initialize, world, *asked)
    sent = [
        (
            asked.group_id,
            {(t.topic_id.int, p.partition) for t in asked.topics for p in t.partitions},
        )
        for asked in world.coordinator.asked
    ]
    assert sent[0] == ("g", {(5, 0)})
    assert sorted(sent[1:]) == [("g", {(5, 1), (5, 2), (6, 0)}), ("other", {(5, 0)})]


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ],
)
async def test_one_that_moves_is_asked_again(
    autojump_clock: MockClock, world: World, code: ErrorCode
) -> None:
    world.coordinator.codes = [code, code]
    await initialize(world)
    assert len(world.coordinator.asked) == 3


async def test_what_it_refuses_is_said_at_once(autojump_clock: MockClock, world: World) -> None:
    world.coordinator.codes = [ErrorCode.FENCED_STATE_EPOCH]
    with pytest.raises(KafkaError) as refused:
        await initialize(world)
    assert refused.value.code is ErrorCode.FENCED_STATE_EPOCH
    assert len(world.coordinator.asked) == 1


async def test_one_that_comes_back_is_found(autojump_clock: MockClock, world: World) -> None:
    world.network.stop(COORDINATOR)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(initialize, world)
        await trio.sleep(3)
        world.network.serve(COORDINATOR, world.coordinator.serve)
    assert world.coordinator.kept == {(READ_ID, 0): 7}


@pytest.mark.parametrize("is_known", [False, True])
async def test_without_one_it_is_given_up_after_a_while(
    autojump_clock: MockClock, world: World, is_known: bool
) -> None:
    if is_known:
        world.network.stop(COORDINATOR)
    else:
        world.address = None
    begun = trio.current_time()
    with pytest.raises(KafkaError) as refused:
        await initialize(world)
    assert refused.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert 10 < trio.current_time() - begun < 20
