"""The coordinator: groups that are loaded and given up as their partitions are led."""

from __future__ import annotations

from dataclasses import replace

import trio

from kafkalite.wire.errors import ErrorCode


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
    found = world.coordinator.administration.describe_groups(elsewhere, ["group"])
    assert [group.group_state for group in found] == ["Stable"]
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


async def test_nothing_is_loaded_once_it_has_stopped(autojump_clock, world):
    member = world.member()
    await world.join_all(member)
    world.coordinator.stop()
    world.coordinator.leaders_changed()
    assert await member.heartbeat() == ErrorCode.NOT_COORDINATOR
