"""The phases of a classic group's rebalance: what begins, ends, prolongs and fails them."""

from __future__ import annotations

import logging

import pytest
import trio

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.group_coordinator.in_memory import Context


async def test_the_protocol_with_most_votes_wins(autojump_clock, world):
    await world.join_all(
        world.member(protocols=[("range", b""), ("sticky", b"")]),
        world.member(protocols=[("sticky", b""), ("range", b"")]),
        world.member(protocols=[("sticky", b""), ("range", b""), ("other", b"")]),
    )
    described = world.coordinator.administration.describe(world.member().context, "group")
    assert described.protocol_data == "sticky"


async def test_an_empty_group_waits_for_companions_and_longer_while_they_come(
    autojump_clock, world
):
    await world.start(group_initial_rebalance_delay_ms=3_000)
    begun = trio.current_time()
    members = [world.member(version=3) for _ in range(3)]
    first = await world.soon(members[0].join)
    await trio.sleep(2)
    second = await world.soon(members[1].join)
    await trio.sleep(3.5)  # 3 s after the first, extended by 3 s because of the second
    third = await world.soon(members[2].join)
    responses = [await pending.wait() for pending in (first, second, third)]
    assert {response.generation_id for response in responses} == {1}
    assert trio.current_time() - begun == pytest.approx(
        9.0, abs=0.01
    )  # and once more because of the third


async def test_the_initial_wait_ends_with_the_longest_rebalance_timeout(autojump_clock, world):
    await world.start(group_initial_rebalance_delay_ms=3_000)
    begun = trio.current_time()
    first = await world.soon(world.member(version=3, rebalance_timeout_ms=7_000).join)
    for _ in range(6):
        await world.soon(world.member(version=3, rebalance_timeout_ms=7_000).join)
        await trio.sleep(1.1)
    await first.wait()
    assert trio.current_time() - begun == pytest.approx(7.0, abs=0.01)


async def test_without_delay_the_first_member_does_not_wait(autojump_clock, world):
    await world.start(group_initial_rebalance_delay_ms=0)
    begun = trio.current_time()
    await world.member(version=3).rejoin()
    assert trio.current_time() == begun


async def test_a_rebalance_drops_who_does_not_rejoin_in_time(autojump_clock, world):
    slow, quick = (
        world.member(rebalance_timeout_ms=20_000, session_timeout_ms=60_000),
        world.member(rebalance_timeout_ms=5_000, session_timeout_ms=60_000),
    )
    await world.join_all(slow, quick)
    begun = trio.current_time()
    newcomer = world.member(version=3, rebalance_timeout_ms=5_000)
    join = await world.soon(newcomer.join)
    assert await world.state() == "PreparingRebalance"
    await world.soon(quick.join)
    await join.wait()
    assert trio.current_time() - begun == pytest.approx(20.0, abs=0.01)
    assert await slow.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_the_rebalance_goes_on_as_soon_as_all_have_rejoined(autojump_clock, world):
    first = world.member()
    await world.join_all(first)
    begun = trio.current_time()
    second = await world.soon(world.member(version=3).join)
    assert await first.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    await first.join()
    assert (await second.wait()).generation_id == 2
    assert trio.current_time() == begun


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


async def test_a_leaver_need_not_be_waited_for(autojump_clock, world):
    stays, goes = world.member(), world.member()
    await world.join_all(stays, goes)
    newcomer = await world.soon(world.member(version=3).join)
    await world.soon(stays.join)
    begun = trio.current_time()
    await goes.leave()
    assert (await newcomer.wait()).error_code == ErrorCode.NONE
    assert trio.current_time() == begun


async def test_a_group_whose_last_member_leaves_waits_for_nobody_who_is_only_expected(
    autojump_clock, world
):
    expected, member = world.member(), world.member(version=3)
    await expected.join()
    assert (await member.join()).error_code == ErrorCode.NONE
    await member.leave()
    assert await world.state() == "Empty"


async def test_the_log_tells_of_each_rebalance_and_why(autojump_clock, world, caplog):
    caplog.set_level(logging.INFO, "kafkalite.group_coordinator.happenings")
    stays, vanishes = world.member(), world.member(session_timeout_ms=6_000)
    await world.join_all(stays)
    joined = await world.soon(vanishes.rejoin)
    await stays.rejoin()
    await joined.wait()
    caplog.clear()
    for _ in range(4):
        await trio.sleep(3)
        await stays.heartbeat()
    await stays.rejoin()
    await stays.sync()
    said = [each.getMessage() for each in caplog.records if each.levelno == logging.INFO]
    assert said == [
        f"group group: member {vanishes.member_id} is sent away: it was not heard of for 6000 ms",
        "group group: rebalance at generation 2: a member went",
        "group group: generation 3 has 1 member(s)",
    ]


async def large_group(world, count=600):
    """A group whose leader has just synced: the SyncGroups of the others, by member id."""
    classic, context = world.coordinator.classic, Context(3, "client")
    request = JoinGroupRequest(
        group_id="group",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    joins = [classic.join_group(context, request) for _ in range(count)]
    await trio.sleep(1)
    member_ids = [each.response_now.member_id for each in joins]
    leader, *others = member_ids
    assert joins[0].response_now.leader == leader

    def sync(member_id, assignments=()):
        row = ("group", 1, member_id, None, None, None, list(assignments))
        return classic.sync_group(context, row)

    waiting = {member_id: sync(member_id) for member_id in others}
    sync(leader, [(each, each.encode()) for each in member_ids])
    return waiting


async def test_the_members_of_a_large_group_are_told_in_their_order_and_in_parts(
    autojump_clock, world
):
    waiting = await large_group(world)
    told = [each.is_answered for each in waiting.values()]
    assert told == sorted(told, reverse=True)
    assert sum(told) == 255  # and the leader
    await trio.sleep(0.001)
    rows = {member_id: each.response_now for member_id, each in waiting.items()}
    assert {(row[1], row[4]) for row in rows.values()} == {
        (ErrorCode.NONE, member_id.encode()) for member_id in rows
    }


@pytest.mark.parametrize("ending", ["stop", "leave"])
async def test_members_that_are_not_told_yet_are_told_what_was_handed_out(
    autojump_clock, world, ending
):
    waiting = await large_group(world)
    last = [*waiting][-1]
    assert not waiting[last].is_answered
    if ending == "stop":
        world.coordinator.stop()
    else:  # another rebalance begins
        identity = MemberIdentity(member_id=last)
        request = LeaveGroupRequest(group_id="group", members=[identity])
        world.coordinator.classic.leave_group(Context(3, "client"), request)
        await trio.sleep(0.001)
    assert {each.response_now[1] for each in waiting.values()} == {ErrorCode.NONE}
    assert waiting[last].response_now[4] == last.encode()
