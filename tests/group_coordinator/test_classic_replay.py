"""Classic groups as they are read back after a restart."""

from __future__ import annotations

import trio

from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode
from tests.group_coordinator.static_pair import stable_pair


async def test_members_go_on_after_a_restart(autojump_clock, world):
    members = [world.member(), world.member(group_instance_id="one")]
    await world.join_all(*members)
    await members[0].commit("orders", 0, 7)
    await world.start()
    for member in members:
        assert await member.heartbeat() == ErrorCode.NONE
        assert (await member.sync()).assignment == member.member_id.encode()
        assert await member.commit("orders", 1, 8) == ErrorCode.NONE
    assert await world.committed("orders", 0) == 7
    assert await world.state() == "Stable"


async def test_sessions_begin_anew_after_a_restart(autojump_clock, world):
    member = world.member(session_timeout_ms=6_000)
    await world.join_all(member)
    await trio.sleep(5)
    await world.start()
    await trio.sleep(5)
    assert await member.heartbeat() == ErrorCode.NONE
    await world.start()
    await trio.sleep(6.1)
    assert await member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_static_member_is_known_after_a_restart(autojump_clock, world):
    _, follower = await stable_pair(world)
    await world.start()
    again = world.member(group_instance_id=follower.group_instance_id)
    assert (await again.join()).generation_id == 1
    assert await follower.heartbeat() == ErrorCode.FENCED_INSTANCE_ID


async def test_generations_go_on_after_a_restart(autojump_clock, world):
    member = world.member()
    await world.join_all(member)
    await member.leave()
    assert world.group().generation_id == 2
    await world.start()
    await world.join_all(member := world.member())
    assert member.generation_id == 3


async def test_a_deleted_group_stays_deleted(autojump_clock, world):
    await world.commit(("orders", 0, 7))
    administration = world.coordinator.administration
    deleted = drained(administration.deleting_group(world.member().context, "group"))
    assert deleted.error_code == ErrorCode.NONE
    await world.start()
    assert await world.state() == "Dead"
    assert await world.committed("orders", 0) == -1
