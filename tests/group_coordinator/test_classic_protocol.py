"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup and every timeout of the classic protocol."""

from __future__ import annotations

import pytest
import trio

from kafkalite.wire.errors import ErrorCode


async def test_two_members_share_one_generation(autojump_clock, world):
    first, second = world.member(), world.member()
    await world.join_all(first, second)
    assert first.generation_id == second.generation_id == 1
    assert first.assignment == first.member_id.encode()
    assert second.assignment == second.member_id.encode()
    assert await world.state() == "Stable"
    assert await first.heartbeat() == ErrorCode.NONE


async def test_a_dynamic_member_is_given_an_id_first(autojump_clock, world):
    member = world.member(client_id="reader")
    response = await member.join()
    assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert response.member_id.startswith("reader-")
    assert len(response.member_id) == len("reader-") + 36
    assert (await member.join()).error_code == ErrorCode.NONE


async def test_an_id_given_and_not_used_is_forgotten_after_the_session(autojump_clock, world):
    stays, vanishes = world.member(), world.member(session_timeout_ms=6_000)
    await world.join_all(stays)
    await vanishes.join()
    await trio.sleep(6.1)
    assert (await vanishes.join()).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_before_version_4_members_join_at_once(autojump_clock, world):
    member = world.member(version=3)
    assert (await member.join()).error_code == ErrorCode.NONE
    assert member.member_id


async def test_version_0_waits_for_the_session_timeout(autojump_clock, world):
    """It has no rebalance timeout of its own."""
    old = world.member(version=0, session_timeout_ms=7_000, rebalance_timeout_ms=-1)
    await old.rejoin()
    other = world.member()
    begun = trio.current_time()
    await other.rejoin()
    assert trio.current_time() - begun == pytest.approx(7.0, abs=0.01)


async def test_who_is_not_admitted_to_a_living_group(autojump_clock, world):
    await world.join_all(world.member())
    for other in (
        world.member(protocols=[("roundrobin", b"")]),
        world.member(protocol_type="connect"),
    ):
        assert (await other.join()).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    stranger = world.member(member_id="nobody")
    assert (await stranger.join()).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_silent_member_is_dropped_after_its_session_timeout(autojump_clock, world):
    silent, lively = world.member(session_timeout_ms=6_000), world.member()
    await world.join_all(silent, lively)
    await trio.sleep(5.9)
    assert await lively.heartbeat() == ErrorCode.NONE
    await trio.sleep(0.2)
    assert await lively.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert await silent.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_heartbeats_keep_a_member_for_ever(autojump_clock, world):
    member = world.member(session_timeout_ms=6_000)
    await world.join_all(member)
    for _ in range(100):
        await trio.sleep(5.9)
        assert await member.heartbeat() == ErrorCode.NONE


async def test_a_new_member_may_wait_five_minutes_for_the_others(autojump_clock, world):
    """It cannot heartbeat while it is parked, and it may be gone."""
    old = world.member(rebalance_timeout_ms=1_000_000, session_timeout_ms=1_000_000)
    await world.join_all(old)
    begun = trio.current_time()
    join = await world.soon(world.member(version=3).join)
    assert (await join.wait()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert trio.current_time() - begun == pytest.approx(300.0, abs=0.01)


async def test_parked_members_need_not_heartbeat(autojump_clock, world):
    leader = world.member(session_timeout_ms=100_000, rebalance_timeout_ms=60_000)
    follower = world.member(session_timeout_ms=6_000)
    for member in (leader, follower):
        await member.join()
    joins = [await world.soon(member.join) for member in (leader, follower)]
    for join in joins:
        await join.wait()
    sync = await world.soon(follower.sync)
    await trio.sleep(50)
    await leader.sync({follower.member_id: b"all"})
    assert (await sync.wait()).assignment == b"all"
    assert await follower.heartbeat() == ErrorCode.NONE


async def test_a_follower_that_rejoins_unchanged_disturbs_nobody(autojump_clock, world):
    leader, follower = world.member(), world.member()
    await world.join_all(leader, follower)
    if (await world.leader()) == follower.member_id:
        leader, follower = follower, leader
    response = await follower.join()
    assert (response.error_code, response.generation_id) == (ErrorCode.NONE, 1)
    assert await leader.heartbeat() == ErrorCode.NONE
    assert (await follower.sync()).assignment == follower.member_id.encode()


async def test_a_leader_that_rejoins_causes_a_rebalance(autojump_clock, world):
    leader, follower = world.member(), world.member()
    await world.join_all(leader, follower)
    if (await world.leader()) == follower.member_id:
        leader, follower = follower, leader
    await world.soon(leader.join)
    assert await follower.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS


async def test_a_follower_with_new_metadata_causes_a_rebalance(autojump_clock, world):
    leader, follower = world.member(), world.member()
    await world.join_all(leader, follower)
    if (await world.leader()) == follower.member_id:
        leader, follower = follower, leader
    follower.protocols = [("range", b"other topics")]
    await world.soon(follower.join)
    assert await leader.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS


async def test_joining_again_while_the_assignment_is_awaited(autojump_clock, world):
    """The answer was lost: it is given again. With new metadata: a rebalance."""
    leader, follower = world.member(), world.member()
    for member in (leader, follower):
        await member.join()
    joins = [await world.soon(member.join) for member in (leader, follower)]
    for join in joins:
        await join.wait()
    again = await leader.join()
    assert (again.generation_id, len(again.members)) == (1, 2)
    sync = await world.soon(follower.sync)
    leader.protocols = [("range", b"other topics")]
    await world.soon(leader.join)
    assert (await sync.wait()).error_code == ErrorCode.REBALANCE_IN_PROGRESS


async def test_sync_is_refused(autojump_clock, world):
    member = world.member()
    assert (await member.sync()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    await world.join_all(member)
    stranger = world.member(member_id="nobody", generation_id=1)
    assert (await stranger.sync()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    late = world.member(member_id=member.member_id, generation_id=0)
    assert (await late.sync()).error_code == ErrorCode.ILLEGAL_GENERATION
    other = world.member(member_id=member.member_id, generation_id=1, protocol_type="connect")
    assert (await other.sync()).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    await world.soon(world.member(version=3).join)
    assert (await member.sync()).error_code == ErrorCode.REBALANCE_IN_PROGRESS


async def test_heartbeat_is_refused(autojump_clock, world):
    member = world.member()
    assert await member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    await world.join_all(member)
    assert await world.member(member_id="nobody").heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    late = world.member(member_id=member.member_id, generation_id=0)
    assert await late.heartbeat() == ErrorCode.ILLEGAL_GENERATION


async def test_leaving_rebalances_the_others(autojump_clock, world):
    stays, goes = world.member(), world.member()
    await world.join_all(stays, goes)
    assert (await goes.leave()).error_code == ErrorCode.NONE
    assert (await goes.leave()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert await stays.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS


async def test_the_last_to_leave_empties_the_group(autojump_clock, world):
    member = world.member()
    await world.join_all(member)
    await member.leave()
    assert await world.state() == "Empty"
    assert await member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_pending_member_can_leave(autojump_clock, world):
    member = world.member()
    await member.join()
    assert (await member.leave()).error_code == ErrorCode.NONE
    assert (await member.join()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
