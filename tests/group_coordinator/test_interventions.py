"""Interventions: members seen, let go and given more time, rebalances begun, from outside."""

from __future__ import annotations

import pytest
import trio

from kafkalite.wire.errors import ErrorCode
from tests.group_coordinator.share_consumers import settle


async def one_of_each(world, consumers):
    """A classic member, a consumer and a share consumer, each in a group of its own."""
    member, consumer = world.member("classic"), world.consumer("consumer")
    await world.join_all(member)
    await consumer.beat()
    await trio.sleep(1)
    (sharer,) = consumers("s")
    sharer.beat()
    return member, consumer, sharer


def members_of(seen):
    return {(group.group_id, member_id) for group in seen.groups() for member_id in group.members}


async def test_all_groups_and_members_are_seen(autojump_clock, world, consumers):
    member, consumer, _ = await one_of_each(world, consumers)
    seen = world.coordinator.interventions
    assert {group.group_id for group in seen.groups()} == {"classic", "consumer", "queue"}
    assert members_of(seen) == {
        ("classic", member.member_id),
        ("consumer", consumer.member_id),
        ("queue", "s"),
    }
    assert seen.group("consumer") is world.group("consumer")
    assert seen.shard_of("classic") is world.coordinator.shards.shard_of("classic", 1)
    assert seen.group("unknown") is None
    assert seen.shard_of("unknown") is None


async def test_deadlines_come_the_earliest_first(autojump_clock, world, consumers):
    begun = trio.current_time()
    member, consumer, _ = await one_of_each(world, consumers)
    found = world.coordinator.interventions.deadlines()
    assert [(each.group_id, each.member_id) for each in found] == [
        ("classic", member.member_id),
        ("consumer", consumer.member_id),
        ("queue", "s"),
    ]
    assert [round(each.at - begun) for each in found] == [10, 45, 46]


async def test_those_that_time_sends_away_are_told(nursery, world):
    """The clock stands still for the coordinator's own task."""
    members = [world.member(f"group {number}") for number in range(3)]
    for member in members:
        await world.join_all(member)
    seen = world.coordinator.interventions
    first, second, _ = (seen.group(f"group {number}") for number in range(3))
    for group in (second, first):
        world.coordinator._sessions.set(*(each.session for each in group.members.values()), -1)
    with seen.telling_expired() as expired:
        seen.expire_due()
        assert expired == [
            ("group 1", members[1].member_id),
            ("group 0", members[0].member_id),
        ]
    seen.expire_due()
    assert len(expired) == 2
    assert world.coordinator.happenings.expired is None


async def test_members_that_are_put_off_live_longer(autojump_clock, world):
    kept, gone = world.member("kept"), world.member("gone")
    await world.join_all(kept)
    await world.join_all(gone)
    seen = world.coordinator.interventions
    assert seen.put_off({("kept", kept.member_id), ("unknown", "x")}, 60) == 1
    await trio.sleep(30)
    assert await kept.heartbeat() == ErrorCode.NONE
    assert await gone.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_member_is_let_go_at_once(autojump_clock, world, consumers):
    member, consumer, sharer = await one_of_each(world, consumers)
    seen = world.coordinator.interventions
    for group_id, member_id in (
        ("classic", member.member_id),
        ("consumer", consumer.member_id),
        ("queue", "s"),
    ):
        seen.expire(seen.group(group_id), member_id)
        with pytest.raises(KeyError):
            seen.expire(seen.group(group_id), "unknown")
    assert members_of(seen) == set()
    assert await member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID
    assert sharer.beat() == ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_rebalance_begins_without_a_reason(autojump_clock, world, consumers):
    member, consumer, sharer = await one_of_each(world, consumers)
    await settle(sharer)
    seen = world.coordinator.interventions
    epochs = consumer.epoch, sharer.epoch
    for group in list(seen.groups()):
        seen.rebalance(group)
    assert await member.heartbeat() == ErrorCode.REBALANCE_IN_PROGRESS
    assert await consumer.beat() == ErrorCode.NONE
    assert sharer.beat() == ErrorCode.NONE
    assert (consumer.epoch, sharer.epoch) == (epochs[0] + 1, epochs[1]), "sharers need not agree"


async def test_an_empty_group_does_not_rebalance(autojump_clock, world):
    member = world.member()
    await world.join_all(member)
    await member.leave()
    world.coordinator.interventions.rebalance(world.group())
    assert await world.state() == "Empty"


async def test_targets_are_given_and_last_until_there_are_others(autojump_clock, world):
    world.set_partitions("orders", 4)
    first, second = world.consumer(), world.consumer()
    for consumer in (first, second) * 2:
        await consumer.beat()
    seen, topic_id = world.coordinator.interventions, world.topics.topic_id("orders")
    epoch = world.group().epoch
    seen.assign(world.group(), {first.member_id: {topic_id: frozenset({1, 3})}})
    assert world.group().epoch == world.group().assignment_epoch == epoch + 1
    for consumer in (second, first) * 2:
        await consumer.beat()
    assert first.partitions == {("orders", 1), ("orders", 3)}
    assert second.partitions == set()
    seen.rebalance(world.group())
    await trio.sleep(5)
    for consumer in (first, second) * 2:
        await consumer.beat()
    assert {len(first.partitions), len(second.partitions)} == {2}
