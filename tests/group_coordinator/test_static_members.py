"""Static membership (KIP-345, 814), and what survives a restart of the coordinator."""

from __future__ import annotations

import pytest

from kafkalite.wire.errors import ErrorCode
from tests.group_coordinator.static_pair import stable_pair

pytestmark = pytest.mark.usefixtures("size")


@pytest.mark.parametrize("version", [5, 9])
async def test_a_restarted_follower_disturbs_nobody(autojump_clock, world, version):
    leader, follower = await stable_pair(world)
    again = world.member(group_instance_id=follower.group_instance_id, version=version)
    response = await again.join()
    assert (response.error_code, response.generation_id) == (ErrorCode.NONE, 1)
    assert response.member_id != follower.member_id
    assert response.skip_assignment is False
    assert (await again.sync()).assignment == follower.member_id.encode()
    assert await leader.heartbeat() == ErrorCode.NONE
    assert await again.heartbeat() == ErrorCode.NONE


async def test_a_restarted_leader_is_told_not_to_assign(autojump_clock, world):
    leader, follower = await stable_pair(world)
    again = world.member(group_instance_id=leader.group_instance_id)
    response = await again.join()
    assert response.leader == response.member_id
    assert response.skip_assignment is True
    assert len(response.members) == 2
    assert (await again.sync()).assignment == leader.member_id.encode()
    assert await follower.heartbeat() == ErrorCode.NONE


async def test_before_version_9_a_restarted_leader_does_not_learn_that_it_leads(
    autojump_clock, world
):
    leader, _ = await stable_pair(world)
    again = world.member(group_instance_id=leader.group_instance_id, version=8)
    response = await again.join()
    assert response.leader == leader.member_id != response.member_id
    assert response.members == []


async def test_the_old_self_is_fenced_everywhere(autojump_clock, world):
    _leader, follower = await stable_pair(world)
    again = world.member(group_instance_id=follower.group_instance_id)
    await again.join()
    fenced = ErrorCode.FENCED_INSTANCE_ID
    assert await follower.heartbeat() == fenced
    assert (await follower.sync()).error_code == fenced
    assert (await follower.join()).error_code == fenced
    assert await follower.commit("orders", 0, 1) == fenced
    response = await follower.leave(group_instance_id=follower.group_instance_id)
    assert response.error_code == fenced


async def test_a_parked_old_self_is_fenced(autojump_clock, world):
    first = world.member(group_instance_id="one")
    join = await world.soon(first.join)
    again = await world.soon(world.member(group_instance_id="one").join)
    assert (await join.wait()).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert (await again.wait()).error_code == ErrorCode.NONE


async def test_an_unknown_instance_is_unknown(autojump_clock, world):
    leader, _ = await stable_pair(world)
    liar = world.member(group_instance_id="three", member_id=leader.member_id, generation_id=1)
    assert await liar.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_restart_with_another_protocol_rebalances(autojump_clock, world):
    leader, follower = await stable_pair(world)
    leader.protocols = [("range", b"a"), ("sticky", b"a")]
    rejoin = await world.soon(leader.join)
    follower.protocols = [("sticky", b"b"), ("range", b"b")]
    await world.soon(follower.join)
    await rejoin.wait()
    chosen = world.group().protocol_name
    other = "sticky" if chosen == "range" else "range"
    await leader.sync()
    again = world.member(
        group_instance_id=follower.group_instance_id, protocols=[(other, b""), (chosen, b"")]
    )
    await world.soon(again.join)
    votes = world.group().select_protocol()
    expected = ErrorCode.NONE if votes == chosen else ErrorCode.REBALANCE_IN_PROGRESS
    assert await leader.heartbeat() == expected


async def test_a_restart_while_the_assignment_is_awaited_rebalances(autojump_clock, world):
    leader, follower = world.member(group_instance_id="one"), world.member(group_instance_id="two")
    joins = [await world.soon(member.join) for member in (leader, follower)]
    for join in joins:
        await join.wait()
    await world.soon(world.member(group_instance_id="two").join)
    assert await leader.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS


async def test_a_restart_that_cannot_be_stored_has_not_happened(autojump_clock, world):
    _, follower = await stable_pair(world)
    world.log.failure = ErrorCode.COORDINATOR_NOT_AVAILABLE
    again = world.member(group_instance_id=follower.group_instance_id)
    assert (await again.join()).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.failure = None
    assert await follower.heartbeat() == ErrorCode.NONE


async def test_a_static_member_is_not_dropped_by_a_rebalance(autojump_clock, world):
    """It has until its session ends: a restart may take longer than a rebalance."""
    away = world.member(
        group_instance_id="one", rebalance_timeout_ms=5_000, session_timeout_ms=60_000
    )
    await world.join_all(away)
    newcomer = world.member(version=3, rebalance_timeout_ms=5_000)
    join = await newcomer.join()
    assert {m.member_id for m in join.members} == {away.member_id, newcomer.member_id}


async def test_an_administrator_removes_by_instance_id(autojump_clock, world):
    leader, follower = await stable_pair(world)
    gone = await leader.leave(member_id="", group_instance_id=follower.group_instance_id)
    assert (gone.error_code, gone.member_id) == (ErrorCode.NONE, "")
    unknown = await leader.leave(member_id="", group_instance_id="three")
    assert unknown.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert await follower.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert await leader.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
