"""Requests of classic members: what is refused before a group's protocol is asked."""

from __future__ import annotations

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.leave_group import LeaveGroupRequest


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


async def test_a_group_nobody_knows_has_no_members_to_leave(autojump_clock, world):
    assert (await world.member(member_id="x").leave()).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_another_node_does_not_answer(autojump_clock, world):
    world.log.leaders = dict.fromkeys(range(4), 2)
    member = world.member()
    assert (await member.join()).error_code == ErrorCode.NOT_COORDINATOR
    assert await member.heartbeat() == ErrorCode.NOT_COORDINATOR


async def test_a_group_has_a_greatest_size(autojump_clock, world):
    await world.start(group_max_size=2)
    first, second, third = world.member(), world.member(), world.member()
    await world.join_all(first, second)
    refused = await third.join()
    assert (refused.error_code, refused.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert (await first.rejoin()).error_code in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)


async def test_members_of_share_groups_are_not_asked_the_classic_way(
    autojump_clock, world, consumers
):
    (sharer,) = consumers("s")
    sharer.beat()
    member = world.member("queue", member_id="s")
    assert await member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert (await member.sync()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert (await member.leave()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    refused = await member.join()
    assert (refused.error_code, refused.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert sharer.beat() == ErrorCode.NONE


async def test_a_group_needs_a_name(autojump_clock, world):
    member = world.member("", member_id="m")
    assert await member.heartbeat() == ErrorCode.INVALID_GROUP_ID
    assert (await member.sync()).error_code == ErrorCode.INVALID_GROUP_ID
    request = LeaveGroupRequest(group_id="", members=[])
    assert (
        await world.coordinator.leave_group(member.context, request)
    ).error_code == ErrorCode.INVALID_GROUP_ID


async def test_a_request_to_a_group_without_members(autojump_clock, world):
    await world.commit(("orders", 0, 7))
    member = world.member(member_id="m")
    assert (await member.sync()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert await member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_an_empty_consumer_group_gives_way(autojump_clock, world):
    consumer, member = world.consumer(), world.member()
    await consumer.beat()
    await consumer.leave()
    await world.join_all(member)
    assert await world.state() == "Stable"
    await world.start()
    assert await member.heartbeat() == ErrorCode.NONE, "as it is written"
