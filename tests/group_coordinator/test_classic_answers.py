"""Responses to members of the current generation."""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode


async def test_the_leader_alone_learns_of_the_members(autojump_clock, world):
    members = [world.member(protocols=[("range", name)]) for name in (b"a", b"b", b"c")]
    for member in members:
        assert (await member.join()).error_code == ErrorCode.MEMBER_ID_REQUIRED
    joins = [await world.soon(member.join) for member in members]
    responses = [await join.wait() for join in joins]
    (leader,) = (r for r in responses if r.leader == r.member_id)
    assert {(m.member_id, m.metadata) for m in leader.members} == {
        (member.member_id, member.protocols[0][1]) for member in members
    }
    assert all(r.members == [] for r in responses if r is not leader)
    assert {r.protocol_name for r in responses} == {"range"}
