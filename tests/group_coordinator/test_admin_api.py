"""Requests of administrators about groups: found by their coordinator only, deleted when empty."""

from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode


async def test_a_group_is_listed_by_its_coordinator_only(autojump_clock, world):
    await world.join_all(world.member())
    world.log.leaders[world.coordinator.partition_for("group")] = 2
    context = world.member().context
    assert drained(world.coordinator.administration.list_groups(context, [], [])) == []
    context.node_id = 2
    assert len(drained(world.coordinator.administration.list_groups(context, [], []))) == 1


async def test_only_empty_groups_are_deleted(autojump_clock, world):
    member = world.member()
    await world.join_all(member)
    await member.commit("orders", 0, 7)

    def delete(group_id):
        steps = world.coordinator.administration.deleting_group(member.context, group_id)
        return drained(steps).error_code

    assert delete("group") == ErrorCode.NON_EMPTY_GROUP
    assert delete("nobody") == ErrorCode.GROUP_ID_NOT_FOUND
    await member.leave()
    assert delete("group") == ErrorCode.NONE
    assert await world.committed("orders", 0) == -1
    assert await world.state() == "Dead"
