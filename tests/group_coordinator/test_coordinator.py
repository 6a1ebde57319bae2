"""The coordinator: groups that are loaded and given up as their partitions are led."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise

import pytest
import trio

from kafkalite.group_coordinator.timers import AT_ONCE, Timer
from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode, KafkaError


async def test_a_new_coordinator_sends_parked_members_away(autojump_clock, world):
    join = await world.soon(world.member(version=3, group_id="group").join)
    for partition in range(4):
        world.coordinator.resigned(partition)
    assert (await join.wait()).error_code == ErrorCode.NOT_COORDINATOR


async def test_groups_are_loaded_where_their_partition_is_led(autojump_clock, world):
    member = world.member()
    await world.join_all(member)
    partition = world.coordinator.partition_for("group")
    world.log.leaders[partition] = 2
    world.coordinator.leaders_changed()
    assert await member.heartbeat() == ErrorCode.NOT_COORDINATOR
    elsewhere = replace(member.context, node_id=2)
    found = world.coordinator.administration.describe(elsewhere, "group")
    assert found.group_state == "Stable"
    world.log.leaders[partition] = None
    world.coordinator.leaders_changed()
    assert partition not in world.coordinator.shards.loaded
    world.log.leaders[partition] = 1
    world.coordinator.leaders_changed()
    assert await member.heartbeat() == ErrorCode.NONE


async def test_sessions_begin_anew_after_an_election(autojump_clock, world):
    member = world.member()
    await world.join_all(member)
    partition = world.coordinator.partition_for("group")
    await trio.sleep(9)
    world.coordinator.resigned(partition)
    world.coordinator.elected(partition)
    await trio.sleep(9)
    assert await member.heartbeat() == ErrorCode.NONE
    await trio.sleep(11)
    assert await member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("timers", ["_sessions", "_phases"])
async def test_timeouts_that_end_together_end_a_few_at_a_time(autojump_clock, world, timers):
    ended = []
    for number in range(3 * AT_ONCE):
        getattr(world.coordinator, timers).set(Timer(partial(ended.append, number)), 5)
    seen = [0]

    class Looking(trio.abc.Instrument):
        def after_task_step(self, task):
            seen.append(len(ended))

    trio.lowlevel.add_instrument(looking := Looking())
    await trio.sleep(6)
    trio.lowlevel.remove_instrument(looking)
    assert seen[-1] == 3 * AT_ONCE
    assert max(after - before for before, after in pairwise(seen)) <= AT_ONCE


async def test_nothing_is_loaded_once_it_has_stopped(autojump_clock, world):
    member = world.member()
    await world.join_all(member)
    world.coordinator.stop()
    world.coordinator.leaders_changed()
    assert await member.heartbeat() == ErrorCode.NOT_COORDINATOR


async def begin_to_load(world, member):
    """A new coordinator over the same log has read the first record of the group's partition."""
    await world.join_all(member)
    assert await member.commit("orders", 0, 7) == ErrorCode.NONE
    waiting = []
    world.load = waiting.append
    await world.start()
    steps = waiting[world.coordinator.partition_for("group")]
    next(steps)
    return steps


async def test_groups_are_refused_while_they_are_loaded(autojump_clock, world):
    member = world.member()
    steps = await begin_to_load(world, member)
    context, loading = member.context, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert await member.commit("orders", 0, 8) == loading
    assert (await member.sync()).error_code == loading
    assert await member.heartbeat() == ErrorCode.NONE, "Kafka says so blindly"
    with pytest.raises(KafkaError) as refused:
        drained(world.coordinator.administration.list_groups(context, [], []))
    assert refused.value.code is loading
    elsewhere = replace(context, node_id=2)
    assert drained(world.coordinator.administration.list_groups(elsewhere, [], [])) == []
    drained(steps)
    assert await world.committed("orders", 0) == 7
    assert await member.heartbeat() == ErrorCode.NONE


async def test_sessions_begin_when_groups_are_loaded(autojump_clock, world):
    member = world.member()
    steps = await begin_to_load(world, member)
    await trio.sleep(9)
    drained(steps)
    await trio.sleep(9)
    assert await member.heartbeat() == ErrorCode.NONE
    await trio.sleep(11)
    assert await member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("steps_before", range(4))
async def test_a_coordinator_that_resigns_does_not_go_on_loading(
    autojump_clock, world, steps_before
):
    """Two records, and a group to watch; however far it has come, nothing of it is left."""
    member = world.member()
    await world.join_all(member)
    await member.commit("orders", 0, 7)
    waiting = []
    world.load = waiting.append
    await world.start()
    partition = world.coordinator.partition_for("group")
    for _ in range(steps_before):
        next(waiting[partition])
    world.coordinator.resigned(partition)
    drained(waiting[partition])
    assert await member.heartbeat() == ErrorCode.NOT_COORDINATOR
    written = world.log.end_offset(partition)
    await trio.sleep(60)
    assert world.log.end_offset(partition) == written, "no session of it ends"
    world.coordinator.elected(partition)
    drained(waiting[-1])
    assert await world.committed("orders", 0) == 7


async def test_what_cannot_be_loaded_is_not_coordinated(autojump_clock, world):
    member = world.member()
    await begin_to_load(world, member)
    partition = world.coordinator.partition_for("group")
    world.log.entries[partition].append("no record")
    world.coordinator.elected(partition)
    # The compiled build looks at the type first.
    with pytest.raises((AttributeError, TypeError)):
        drained(world.load.__self__[-1])
    assert await member.heartbeat() == ErrorCode.NOT_COORDINATOR
