"""Decisions of leaders of share partitions are written in order, or the share partition is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator

import pytest
import trio
from trio.testing import MockClock

from kafkalite.coordinators.share_state_requests import MOST_IN_ONE
from kafkalite.peers.link import Address
from kafkalite.replica.share.share_partition import SharePartitionKey, StateUpdate
from kafkalite.replica.share.state_batch import StateBatch
from kafkalite.requests.slices import SLICE_SECONDS
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.coordinators.virtual_share_coordinator import (
    DONE_COUNT,
    KEY,
    LEADER_EPOCH,
    READ_ID,
    STATE_EPOCH,
    World,
)

OTHER_KEY = SharePartitionKey("g", READ_ID, 1)


@pytest.fixture
async def world(autojump_clock: MockClock, nursery: trio.Nursery) -> World:
    return World(nursery)


def write(world: World, start_offset: int, *batches: StateBatch, epoch: int = 1) -> None:
    update = StateUpdate(start_offset, len(batches), batches)
    world.persister.write_state(KEY, STATE_EPOCH, epoch, update)


async def stored(world: World, key: SharePartitionKey = KEY) -> ErrorCode:
    """The outcome of what is pending."""
    pending = world.persister.pending(key)
    assert pending is not None
    await pending.done.wait()
    return ErrorCode.NONE if pending.error is None else pending.error.code


def parts(world: World) -> list[tuple[int, int, list[tuple[int, ...]]]]:
    """Leader epoch, start offset and batches of each update."""
    found: list[tuple[int, int, list[tuple[int, ...]]]] = []
    for asked in world.coordinator.asked:
        (topic,) = asked.topics
        for part in topic.partitions:
            batches = [
                (b.first_offset, b.last_offset, b.delivery_state, b.delivery_count)
                for b in part.state_batches
            ]
            found.append((part.leader_epoch, part.start_offset, batches))
    return found


async def test_updates_are_written_in_order(autojump_clock: MockClock, world: World) -> None:
    write(world, 1, StateBatch(1, 2, 0, 1))
    await trio.sleep(0.2)
    write(world, 2, StateBatch(3, 4, 2, 1))
    write(world, 3, StateBatch(5, 5, 2, 1), StateBatch(8, 8, 4, 2))
    write(world, 4, epoch=2)
    assert await stored(world) is ErrorCode.NONE
    assert world.persister.pending(KEY) is None
    assert parts(world) == [
        (1, 1, [(1, 2, 0, 1)]),
        (1, 2, [(3, 4, 2, 1)]),
        (1, 3, [(5, 5, 2, 1), (8, 8, 4, 2)]),
        (2, 4, []),
    ]
    assert len(world.coordinator.asked) == 3


async def test_very_many_updates_go_in_several_requests(
    autojump_clock: MockClock, world: World
) -> None:
    """None is joined with those that wait, which would take longer the more they are."""
    count = 5 * MOST_IN_ONE
    for offset in range(count):
        write(world, 0, StateBatch(2 * offset, 2 * offset, 0, 1))
    assert await stored(world) is ErrorCode.NONE
    sizes = [len(asked.topics[0].partitions) for asked in world.coordinator.asked]
    assert sum(sizes) == count
    assert max(sizes) == MOST_IN_ONE
    assert [batches[0][0] for _, _, batches in parts(world)] == list(range(0, 2 * count, 2))


async def test_updates_of_several_partitions_are_no_more_in_one_request(
    autojump_clock: MockClock, world: World
) -> None:
    write(world, 0)
    await trio.sleep(0.2)
    for number in range(MOST_IN_ONE):
        for key in (KEY, OTHER_KEY):
            update = StateUpdate(0, 0, [StateBatch(number, number, 0, 1)])
            world.persister.write_state(key, STATE_EPOCH, 1, update)
    await trio.sleep(10)
    sizes = [
        sum(len(topic.partitions) for topic in asked.topics) for asked in world.coordinator.asked
    ]
    assert sum(sizes) == 1 + 2 * MOST_IN_ONE
    assert max(sizes) <= MOST_IN_ONE


async def test_one_that_fails_takes_what_follows_along(
    autojump_clock: MockClock, world: World
) -> None:
    lost: list[SharePartitionKey] = []
    world.persister.lost = lost.append
    world.coordinator.codes = [ErrorCode.FENCED_LEADER_EPOCH]
    write(world, 1)
    await trio.sleep(0.2)
    write(world, 2)
    assert await stored(world) is ErrorCode.FENCED_LEADER_EPOCH
    assert lost == [KEY]
    assert len(world.coordinator.asked) == 1
    write(world, 3)
    assert await stored(world) is ErrorCode.NONE
    assert lost == [KEY]


async def test_a_state_is_fetched_for_one_use(autojump_clock: MockClock, world: World) -> None:
    world.coordinator.kept[READ_ID, 0] = 7
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(world.persister.fetch, KEY, 3)
    assert len(world.coordinator.asked) == 1
    state = world.persister.read_state(KEY, 3)
    assert (state.start_offset, state.state_epoch) == (7, STATE_EPOCH)
    with pytest.raises(KafkaError):
        world.persister.read_state(KEY, 3)


async def test_a_state_of_another_epoch_or_before_a_write_is_not_used(
    autojump_clock: MockClock, world: World
) -> None:
    await world.persister.fetch(KEY, 3)
    with pytest.raises(KafkaError) as refused:
        world.persister.read_state(KEY, 4)
    assert refused.value.code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    await world.persister.fetch(KEY, 3)
    write(world, 9)
    with pytest.raises(KafkaError):
        world.persister.read_state(KEY, 3)


async def test_what_is_pending_is_written_before_the_state_is_fetched(
    autojump_clock: MockClock, world: World
) -> None:
    write(world, 9)
    await world.persister.fetch(KEY, 3)
    assert world.persister.read_state(KEY, 3).start_offset == 9


async def test_the_reason_why_there_is_none_is_told(
    autojump_clock: MockClock, world: World
) -> None:
    world.coordinator.codes = [ErrorCode.INVALID_REQUEST]
    await world.persister.fetch(KEY, 3)
    with pytest.raises(KafkaError) as refused:
        world.persister.read_state(KEY, 3)
    assert refused.value.code is ErrorCode.INVALID_REQUEST


async def test_states_are_begun_seen_and_deleted(autojump_clock: MockClock, world: World) -> None:
    persister = world.persister
    assert persister.seen_here is None
    assert await persister.initialize_states("g", 1, {READ_ID: {0: 5, 1: 6}}) == {}
    seen = await persister.seen("g", {READ_ID: [0, 1, 3]})
    assert seen.describe_state("g", READ_ID, 0) == (5, DONE_COUNT, LEADER_EPOCH)
    assert seen.latest_offset(READ_ID, 0) == 400
    with pytest.raises(KafkaError) as refused:
        seen.latest_offset(READ_ID, 1)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert seen.describe_state("g", READ_ID, 3)[0] == -1
    ((topic,),) = [request.topics for request in world.coordinator.ends]
    assert {each.partition_index for each in topic.partitions} == {0, 1}, "3 was never begun"
    world.coordinator.codes = [ErrorCode.FENCED_STATE_EPOCH]
    refusals = await persister.delete_states("g", {READ_ID: [0, 1]})
    assert {where: error.code for where, error in refusals.items()} == dict.fromkeys(
        [(READ_ID, 0), (READ_ID, 1)], ErrorCode.FENCED_STATE_EPOCH
    )
    assert await persister.delete_states("g", {READ_ID: [0, 1]}) == {}
    assert world.coordinator.kept == {}


async def test_what_is_to_be_done_soon_is_done(autojump_clock: MockClock, world: World) -> None:
    done = trio.Event()

    async def work() -> None:
        done.set()

    world.persister.soon(work, 1)
    with trio.fail_after(1):
        await done.wait()


async def test_a_thread_does_long_work(world: World) -> None:
    threads: list[threading.Thread] = []
    await world.persister.by_thread(lambda: threads.append(threading.current_thread()))
    assert len(threads) == 1
    assert threading.main_thread() not in threads


async def test_others_have_their_turn_between_steps(world: World) -> None:
    turns: list[str] = []

    def steps() -> Generator[None, None, int]:
        for _ in range(3):
            turns.append("step")
            time.sleep(2 * SLICE_SECONDS)
            yield
        return 7

    async def other() -> None:
        turns.append("other")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        assert await world.persister.in_steps(steps(), 1000) == 7
    assert "other" in turns[1:-1]


async def test_very_many_are_asked_about_little_by_little(
    autojump_clock: MockClock, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[SharePartitionKey] = []
    in_a_turn: list[int] = []
    coordinator_of = world.requests._coordinator_of

    def counted(key: SharePartitionKey) -> Address | None:
        begun.append(key)
        return coordinator_of(key)

    class Turns(trio.abc.Instrument):
        def before_io_wait(self, timeout: float) -> None:
            in_a_turn.append(len(begun) - sum(in_a_turn))

    monkeypatch.setattr(world.requests, "_coordinator_of", counted)
    trio.lowlevel.add_instrument(Turns())
    await world.persister.initialize_states("g", 1, {READ_ID: dict.fromkeys(range(1000), 5)})
    assert len(world.coordinator.kept) == 1000
    assert len((await world.persister.seen("g", {READ_ID: range(1000)})).states) == 1000
    await world.persister.delete_states("g", {READ_ID: range(1000)})
    assert world.coordinator.kept == {}
    assert len(begun) == 3000
    assert max(in_a_turn) < 100
