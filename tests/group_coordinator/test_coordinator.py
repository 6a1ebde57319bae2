"""The coordinator of several nodes and groups: which node answers, how large a group may be."""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode


async def test_a_group_has_a_greatest_size(autojump_clock, world):
    await world.start(group_max_size=2)
    first, second, third = world.member(), world.member(), world.member()
    await world.join_all(first, second)
    refused = await third.join()
    assert (refused.error_code, refused.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert (await first.rejoin()).error_code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)


async def test_a_group_nobody_knows_has_no_members_to_leave(autojump_clock, world):
    assert (await world.member(member_id="x").leave()).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_another_node_does_not_answer(autojump_clock, world):
    world.log.leaders = dict.fromkeys(range(4), 2)
    member = world.member()
    assert (await member.join()).error_code == ErrorCode.NOT_COORDINATOR
    assert await member.heartbeat() == ErrorCode.NOT_COORDINATOR


async def test_a_new_coordinator_sends_parked_members_away(autojump_clock, world):
    join = await world.soon(world.member(version=3, group_id="group").join)
    for partition in range(4):
        world.coordinator.resigned(partition)
    assert (await join.wait()).error_code == ErrorCode.NOT_COORDINATOR
