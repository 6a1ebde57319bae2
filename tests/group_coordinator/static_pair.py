"""Two static members of one group."""

from __future__ import annotations


async def stable_pair(world):
    leader = world.member(group_instance_id="one")
    follower = world.member(group_instance_id="two")
    await world.join_all(leader, follower)
    if world.group().leader_id == follower.member_id:
        leader, follower = follower, leader
    return leader, follower
