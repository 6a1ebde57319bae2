"""Requests about consumer groups: which are served, where, and by which groups."""

from __future__ import annotations

from kafkalite.wire.errors import ErrorCode
from tests.group_coordinator.in_memory import Context


async def test_another_node_does_not_answer(autojump_clock, world):
    world.log.leaders = dict.fromkeys(range(4), 2)
    assert await world.consumer().beat() == ErrorCode.NOT_COORDINATOR


async def test_a_group_is_made_by_joining_only(autojump_clock, world):
    consumer = world.consumer()
    for epoch, words in ((3, "Consumer group group not found."), (-1, "Group group not found.")):
        response = await consumer.send(member_epoch=epoch)
        assert response.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert response.error_message == words
    assert not world.log.batches


async def test_groups_that_cannot_be_described(autojump_clock, world):
    await world.consumer("here").beat()
    partition_for = world.coordinator.partition_for
    here = {partition_for("here"), partition_for("unknown")}
    elsewhere = next(name for name in map(str, range(99)) if partition_for(name) not in here)
    world.log.leaders[partition_for(elsewhere)] = 2
    describe = world.coordinator.consumer.describe
    found = [describe(Context(1), group_id) for group_id in ("here", "", "unknown", elsewhere)]
    assert [(group.group_id, group.error_code) for group in found] == [
        ("here", ErrorCode.NONE),
        ("", ErrorCode.INVALID_GROUP_ID),
        ("unknown", ErrorCode.GROUP_ID_NOT_FOUND),
        (elsewhere, ErrorCode.NOT_COORDINATOR),
    ]


async def test_an_empty_classic_group_gives_way(autojump_clock, world):
    member, consumer = world.member(), world.consumer()
    await world.join_all(member)
    await member.leave()
    assert await consumer.beat() == ErrorCode.NONE
    assert await world.consumer_state() == "Stable"
    await world.start()
    assert await consumer.beat() == ErrorCode.NONE, "as it is written"
