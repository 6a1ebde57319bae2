"""JoinGroup, SyncGroup, Heartbeat, LeaveGroup and every timeout of the classic protocol."""

from __future__ import annotations

import pytest
import trio

from kafkalite.wire.errors import ErrorCode

from_now = trio.current_time


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
    begun = from_now()
    await other.rejoin()
    assert from_now() - begun == pytest.approx(7.0, abs=0.01)


@pytest.mark.parametrize(
    ("request_fields", "error_code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5_999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocols": []}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
async def test_who_is_not_admitted_to_a_new_group(
    autojump_clock, world, request_fields, error_code
):
    member = world.member()
    for name, value in request_fields.items():
        setattr(member, name, value)
    assert (await member.join()).error_code == error_code


async def test_who_is_not_admitted_to_a_living_group(autojump_clock, world):
    await world.join_all(world.member())
    for other in (
        world.member(protocols=[("roundrobin", b"")]),
        world.member(protocol_type="connect"),
    ):
        assert (await other.join()).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    stranger = world.member(member_id="nobody")
    assert (await stranger.join()).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_the_protocol_with_most_votes_wins(autojump_clock, world):
    await world.join_all(
        world.member(protocols=[("range", b""), ("sticky", b"")]),
        world.member(protocols=[("sticky", b""), ("range", b"")]),
        world.member(protocols=[("sticky", b""), ("range", b""), ("other", b"")]),
    )
    (described,) = world.coordinator.administration.describe_groups(
        world.member().context, ["group"]
    )
    assert described.protocol_data == "sticky"


async def test_an_empty_group_waits_for_companions_and_longer_while_they_come(
    autojump_clock, world
):
    await world.start(group_initial_rebalance_delay_ms=3_000)
    begun = from_now()
    members = [world.member(version=3) for _ in range(3)]
    first = await world.soon(members[0].join)
    await trio.sleep(2)
    second = await world.soon(members[1].join)
    await trio.sleep(3.5)  # 3 s after the first, extended by 3 s because of the second
    third = await world.soon(members[2].join)
    responses = [await pending.wait() for pending in (first, second, third)]
    assert {response.generation_id for response in responses} == {1}
    assert from_now() - begun == pytest.approx(9.0, abs=0.01)  # and once more because of the third


async def test_the_initial_wait_ends_with_the_longest_rebalance_timeout(autojump_clock, world):
    await world.start(group_initial_rebalance_delay_ms=3_000)
    begun = from_now()
    first = await world.soon(world.member(version=3, rebalance_timeout_ms=7_000).join)
    for _ in range(6):
        await world.soon(world.member(version=3, rebalance_timeout_ms=7_000).join)
        await trio.sleep(1.1)
    await first.wait()
    assert from_now() - begun == pytest.approx(7.0, abs=0.01)


async def test_without_delay_the_first_member_does_not_wait(autojump_clock, world):
    await world.start(group_initial_rebalance_delay_ms=0)
    begun = from_now()
    await world.member(version=3).rejoin()
    assert from_now() == begun


async def test_a_rebalance_drops_who_does_not_rejoin_in_time(autojump_clock, world):
    slow, quick = (
        world.member(rebalance_timeout_ms=20_000, session_timeout_ms=60_000),
        world.member(rebalance_timeout_ms=5_000, session_timeout_ms=60_000),
    )
    await world.join_all(slow, quick)
    begun = from_now()
    newcomer = world.member(version=3, rebalance_timeout_ms=5_000)
    join = await world.soon(newcomer.join)
    assert await world.state() == "PreparingRebalance"
    await world.soon(quick.join)
    await join.wait()
    assert from_now() - begun == pytest.approx(20.0, abs=0.01)
    assert await slow.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_the_rebalance_goes_on_as_soon_as_all_have_rejoined(autojump_clock, world):
    first = world.member()
    await world.join_all(first)
    begun = from_now()
    second = await world.soon(world.member(version=3).join)
    assert await first.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await first.join()
    assert (await second.wait()).generation_id == 2
    assert from_now() == begun


async def test_who_does_not_sync_in_time_is_dropped(autojump_clock, world):
    leader, follower = world.member(), world.member()
    for member in (leader, follower):
        await member.join()
    joins = [await world.soon(member.join) for member in (leader, follower)]
    assert (await joins[0].wait()).leader == leader.member_id
    await joins[1].wait()
    await leader.sync({leader.member_id: b"all"})
    for _ in range(4):
        await trio.sleep(8)
        await follower.heartbeat()
        await leader.heartbeat()
    assert await follower.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert await leader.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS


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
    begun = from_now()
    join = await world.soon(world.member(version=3).join)
    assert (await join.wait()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert from_now() - begun == pytest.approx(300.0, abs=0.01)


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


async def test_a_member_the_leader_forgot_gets_nothing(autojump_clock, world):
    leader, follower = world.member(), world.member()
    for member in (leader, follower):
        await member.join()
    joins = [await world.soon(member.join) for member in (leader, follower)]
    for join in joins:
        await join.wait()
    sync = await world.soon(follower.sync)
    await leader.sync({leader.member_id: b"all"})
    response = await sync.wait()
    assert (response.error_code, response.assignment) == (ErrorCode.NONE, b"")


async def test_an_assignment_that_cannot_be_stored_is_not_given(autojump_clock, world):
    member = world.member()
    await member.join()
    await member.join()
    world.log.failure = ErrorCode.NOT_COORDINATOR
    assert (await member.sync({member.member_id: b"all"})).error_code == ErrorCode.NOT_COORDINATOR
    world.log.failure = None
    assert await member.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS


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


async def test_a_leaver_need_not_be_waited_for(autojump_clock, world):
    stays, goes = world.member(), world.member()
    await world.join_all(stays, goes)
    newcomer = await world.soon(world.member(version=3).join)
    await world.soon(stays.join)
    begun = from_now()
    await goes.leave()
    assert (await newcomer.wait()).error_code == ErrorCode.NONE
    assert from_now() == begun


async def test_a_pending_member_can_leave(autojump_clock, world):
    member = world.member()
    await member.join()
    assert (await member.leave()).error_code == ErrorCode.NONE
    assert (await member.join()).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_group_whose_last_member_leaves_waits_for_nobody_who_is_only_expected(
    autojump_clock, world
):
    expected, member = world.member(), world.member(version=3)
    await expected.join()
    assert (await member.join()).error_code == ErrorCode.NONE
    await member.leave()
    assert await world.state() == "Empty"
