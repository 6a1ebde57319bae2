"""DescribeGroups, ListGroups, DeleteGroups, and which partition a group belongs to."""

import pytest

from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode


async def test_a_stable_group_is_described(autojump_clock, world):
    member = world.member(client_id="reader")
    await world.join_all(member)
    group = world.coordinator.administration.describe(member.context, "group")
    assert (group.group_state, group.protocol_type, group.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    (described,) = group.members
    assert described.member_id == member.member_id
    assert described.client_id == "reader"
    assert described.client_host == "/127.0.0.1"
    assert described.member_metadata == b"subscription"
    assert described.member_assignment == member.assignment


async def test_while_it_rebalances_there_is_no_metadata(autojump_clock, world):
    member = world.member()
    await world.join_all(member)
    await world.soon(world.member(version=3).join)
    group = world.coordinator.administration.describe(member.context, "group")
    assert group.group_state == "PreparingRebalance"
    assert group.protocol_data == ""
    assert all(m.member_metadata == b"" for m in group.members)


@pytest.mark.parametrize(
    ("version", "error_code"), [(5, ErrorCode.NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)]
)
async def test_an_unknown_group_is_dead(autojump_clock, world, version, error_code):
    context = world.member(version=version).context
    group = world.coordinator.administration.describe(context, "nobody")
    assert (group.group_state, group.error_code) == ("Dead", error_code)


async def test_groups_are_listed_by_state_and_type(autojump_clock, world):
    await world.join_all(world.member("stable"))
    await world.commit(("orders", 0, 7), group_id="simple")
    context = world.member().context

    async def ids(states=(), types=()):
        listed = drained(world.coordinator.administration.list_groups(context, states, types))
        return sorted(group.group_id for group in listed)

    assert await ids() == ["simple", "stable"]
    assert await ids(states=["stable"]) == ["stable"]
    assert await ids(states=["Empty", "STABLE"]) == ["simple", "stable"]
    assert await ids(states=["Dead"]) == []
    assert await ids(types=["CLASSIC"]) == ["simple", "stable"]
    assert await ids(types=["consumer"]) == []
