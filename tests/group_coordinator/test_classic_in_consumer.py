"""Classic members in a consumer group."""

from __future__ import annotations

import struct

import pytest
import trio

from kafkalite.group_coordinator.large_groups import LARGE, TRIES
from kafkalite.log.errors import TakesLong
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tests.group_coordinator.both_protocols import (
    classic,
    partitions_of,
    rejoin,
    settle,
    subscription,
)
from tests.group_coordinator.in_memory import Context

pytestmark = pytest.mark.usefixtures("size")


async def test_a_classic_member_joins_a_consumer_group(autojump_clock, world):
    new = world.consumer()
    await new.beat()
    old = classic(world)
    response = await old.join()
    assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert await rejoin(old) == ErrorCode.NONE
    await settle([old], [new])
    assert len(partitions_of(old)) == len(new.partitions) == 2
    assert await old.commit("orders", 0, 7) == ErrorCode.NONE
    old.generation_id += 1
    assert await old.commit("orders", 0, 7) == ErrorCode.ILLEGAL_GENERATION
    assert await old.heartbeat() == ErrorCode.ILLEGAL_GENERATION


async def test_who_may_not_join_a_consumer_group(autojump_clock, world):
    await world.consumer().beat()
    inconsistent = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert (await world.member(protocol_type="connect").join()).error_code == inconsistent
    await rejoin(classic(world))
    other = world.member(protocols=[("range", subscription("orders"))])
    assert (await other.join()).error_code == inconsistent


async def test_a_subscription_is_read_when_the_member_is_known(autojump_clock, world):
    """A member without an id, or with a wrong one, hears of that first."""
    await world.consumer().beat()
    malformed = world.member(protocols=[("range", b"x")])
    assert (await malformed.join()).error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert (await malformed.join()).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    stranger = world.member(
        protocols=[("range", b"x")], member_id="nobody", group_instance_id="instance"
    )
    assert (await stranger.join()).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_consumer_is_not_served_the_classic_way(autojump_clock, world):
    new = world.consumer()
    await new.beat()
    pretender = classic(world, member_id=new.member_id, generation_id=new.epoch)
    assert await pretender.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert (await pretender.sync()).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_an_administrator_may_remove_anybody(autojump_clock, world):
    new, old = world.consumer(instance_id="one"), classic(world)
    await new.beat()
    await rejoin(old)
    await settle([old], [new])
    gone = await old.leave(member_id="", group_instance_id="one")
    assert gone.error_code == ErrorCode.NONE
    assert list(world.group().members) == [old.member_id]
    assert world.group().group_type == "classic"


async def test_classic_members_leave_and_fall_silent(autojump_clock, world):
    new, leaves, silent = world.consumer(), classic(world), classic(world)
    await new.beat()
    await rejoin(leaves)
    await rejoin(silent)
    await settle([leaves, silent], [new])
    assert (await leaves.leave()).error_code == ErrorCode.NONE
    await trio.sleep(10.1)
    await settle([], [new])
    assert len(new.partitions) == 4
    assert await silent.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_classic_member_must_join_in_time_and_sync_in_time(autojump_clock, world):
    new = world.consumer()
    await new.beat()
    slow = classic(world, rebalance_timeout_ms=15_000)
    await rejoin(slow)
    await settle([slow], [new])
    await world.consumer().beat()
    assert await slow.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(2):
        await trio.sleep(7)
        assert await slow.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await trio.sleep(1.1)
    assert await slow.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    unsynced = classic(world, version=3, rebalance_timeout_ms=15_000)
    await unsynced.join()
    for _ in range(2):
        await trio.sleep(7)
        await unsynced.heartbeat()
    await trio.sleep(1.1)
    assert await unsynced.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_classic_members_learn_that_a_topic_has_grown(autojump_clock, world):
    """Their own heartbeats do not look: another member's does."""
    new, old = world.consumer(), classic(world)
    await new.beat()
    await rejoin(old)
    await settle([old], [new])
    world.set_partitions("orders", 6)
    assert await old.heartbeat() == ErrorCode.NONE
    await new.beat()
    assert await old.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await settle([old], [new])
    assert len(partitions_of(old)) == len(new.partitions) == 3


async def test_that_another_has_left_is_learned_from_the_next_target(autojump_clock, world):
    """Nobody works out a target before a consumer is heard or somebody joins, as in Kafka."""
    new, leaves, stays = world.consumer(), classic(world), classic(world)
    await new.beat()
    await rejoin(leaves)
    await rejoin(stays)
    await settle([leaves, stays], [new])
    assert (await leaves.leave()).error_code == ErrorCode.NONE
    assert await stays.heartbeat() == ErrorCode.NONE
    assert (await stays.sync()).error_code == ErrorCode.NONE
    await new.beat()
    assert await stays.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert (await stays.sync()).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    await settle([stays], [new])
    assert len(partitions_of(stays)) == len(new.partitions) == 2


async def test_assignments_come_in_the_version_of_the_subscription(autojump_clock, world):
    await world.consumer().beat()
    old = classic(world)
    await rejoin(old)
    assert struct.unpack_from(">h", old.assignment) == (1,)


def joins(member_id, *topics):
    """The JoinGroup of a member that knows its id."""
    return JoinGroupRequest(
        group_id="group",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=30_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription(*topics))],
    )


def is_long(world, *topics):
    try:
        world.coordinator.classic.join_group(Context(), joins("old", *topics), briefly=True)
    except TakesLong:
        return True
    return False


@pytest.mark.parametrize("size", ["small"], indirect=True)
async def test_a_thread_works_out_what_changes_in_large_groups(autojump_clock, world, size):
    await world.consumer(topics=["payments"]).beat()
    assert not is_long(world, "payments")
    assert is_long(world, *(f"topic-{index}" for index in range(LARGE + 1)))
    world.set_partitions("orders", LARGE + 1)
    assert is_long(world, "orders"), "to which it subscribes"
    world.set_partitions("payments", LARGE + 1)
    assert is_long(world, "missing"), "as others subscribe to many partitions"


def ended(steps, happens):
    """The answer to a JoinGroup, where something happens after each time that a thread works."""
    while True:
        try:
            next(steps)()
            happens()
        except StopIteration as done:
            return done.value.response_now


@pytest.fixture
async def large(world):
    """A group of one member with very many partitions."""
    world.set_partitions("orders", LARGE + 1)
    await world.consumer().beat()
    return world


async def test_another_member_joins_meanwhile(autojump_clock, large):
    others = []

    def join_too():
        if not others:
            others.append(large.coordinator.classic.join_group(Context(), joins("b", "orders")))

    steps = large.coordinator.classic.join_in_steps(Context(), joins("a", "orders"))
    assert ended(steps, join_too).error_code == ErrorCode.NONE
    assert {"a", "b"} < set(large.group().members)
    members = large.group().members
    await large.start()
    assert large.group().members == members, "as written"


async def test_a_member_joins_on_the_loop_if_the_group_never_rests(autojump_clock, large):
    changes = []

    def change():
        changes.append(large.group().topics_changed())

    steps = large.coordinator.classic.join_in_steps(Context(), joins("a", "orders"))
    assert ended(steps, change).error_code == ErrorCode.NONE
    assert len(changes) == TRIES
    assert "a" in large.group().members


async def test_the_coordinator_resigns_while_a_member_joins(autojump_clock, large):
    coordinator = large.coordinator
    steps = coordinator.classic.join_in_steps(Context(), joins("a", "orders"))

    def resign():
        coordinator.resigned(coordinator.partition_for("group"))

    assert ended(steps, resign).error_code == ErrorCode.NOT_COORDINATOR


async def test_a_member_that_cannot_be_written_has_not_joined(autojump_clock, large):
    steps = large.coordinator.classic.join_in_steps(Context(), joins("a", "orders"))
    log = large.log

    def fail():
        log.failure = ErrorCode.COORDINATOR_NOT_AVAILABLE

    assert ended(steps, fail).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    log.failure = None
    assert "a" not in large.group().members
