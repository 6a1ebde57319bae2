"""A consumer group: its description, and the epochs that may commit."""

from __future__ import annotations

import pytest

from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode
from tests.group_coordinator.consumers import settle

pytestmark = pytest.mark.usefixtures("size")


async def commit_as(world, consumer, offset, version=9, epoch=None, partition=0):
    codes = await world.commit(
        ("orders", partition, offset),
        version=version,
        member_id=consumer.member_id,
        generation_id_or_member_epoch=consumer.epoch if epoch is None else epoch,
    )
    return codes[0]


async def test_members_commit_with_their_epoch(autojump_clock, world):
    consumer = world.consumer()
    await consumer.beat()
    assert await commit_as(world, consumer, 7) == ErrorCode.NONE
    assert await commit_as(world, consumer, 8, version=8) == ErrorCode.UNSUPPORTED_VERSION
    assert await commit_as(world, consumer, 8, epoch=3) == ErrorCode.STALE_MEMBER_EPOCH
    assert await commit_as(world, world.consumer(), 8, epoch=2) == ErrorCode.UNKNOWN_MEMBER_ID
    assert await world.commit(("orders", 0, 8)) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert await world.committed("orders", 0) == 7


async def test_an_older_epoch_will_do_for_what_was_had_since(autojump_clock, world):
    """KIP-1251: partition by partition."""
    first, second = world.consumer(), world.consumer()
    await settle(first, second)
    assert first.epoch == 3
    kept = min(index for _, index in first.partitions)
    lost = min(set(range(4)) - {index for _, index in first.partitions})
    assert await commit_as(world, first, 7, epoch=2, partition=kept) == ErrorCode.NONE
    stale = ErrorCode.STALE_MEMBER_EPOCH
    assert await commit_as(world, first, 7, epoch=2, partition=lost) == stale
    assert await commit_as(world, second, 7, epoch=2, partition=lost) == stale
    # One partition refuses the whole request, and nothing is kept.
    both = ("orders", kept, 8), ("orders", lost, 8)
    as_before = {"member_id": first.member_id, "generation_id_or_member_epoch": 2}
    assert await world.commit(*both, version=9, **as_before) == [stale, stale]
    assert await world.committed("orders", kept) == 7


@pytest.mark.parametrize("names", [("range", "uniform"), ("uniform", "range")])
async def test_of_as_many_votes_uniform_comes_first(autojump_clock, world, names):
    for name in names:
        await world.consumer().send(
            member_epoch=0,
            rebalance_timeout_ms=30_000,
            subscribed_topic_names=["orders"],
            topic_partitions=[],
            server_assignor=name,
        )
    assert world.group().preferred_assignor() == "uniform"


async def test_a_group_is_described(autojump_clock, world):
    consumer = world.consumer(instance_id="one", rack_id="here", regex="pay.*")
    await consumer.beat()
    group = await world.describe_consumer()
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Stable", 3, 3)
    assert group.assignor_name == "uniform"
    (member,) = group.members
    assert (member.instance_id, member.rack_id, member.member_epoch) == ("one", "here", 3)
    assert member.subscribed_topic_names == ["orders"]
    assert member.subscribed_topic_regex == "pay.*"
    assert member.member_type == 1
    for assignment in (member.assignment, member.target_assignment):
        assert {
            (topic.topic_name, index)
            for topic in assignment.topic_partitions
            for index in topic.partitions
        } == consumer.partitions
    described = world.coordinator.administration.describe(world.member(version=6).context, "group")
    assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    missing = await world.describe_consumer("nobody")
    assert missing.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    listed = drained(
        world.coordinator.administration.list_groups(
            world.member().context, ["stable"], ["Consumer"]
        )
    )
    assert [(g.group_id, g.group_type) for g in listed] == [("group", "consumer")]


class Looked(dict):
    """Counts how often it is looked into."""

    count = 0

    def get(self, key, default=None):
        self.count += 1
        return super().get(key, default)


async def test_members_with_one_subscription_are_looked_at_once(autojump_clock, world):
    """The work that a member makes when it comes or goes does not grow with the group."""
    consumers = [world.consumer() for _ in range(20)]
    await settle(*consumers, rounds=1)
    (other,) = others = [world.consumer(topics=["payments"], regex="ord.*")]
    await settle(*consumers, *others, rounds=2)
    group = world.group()
    assert group.subscribed_topics == {"orders", "payments"}
    group.expressions = looked = Looked(group.expressions)
    assert await consumers.pop().leave() == ErrorCode.NONE
    assert (group.subscribed_topics, looked.count) == ({"orders", "payments"}, 0)
    assert group.used_expressions == {"ord.*"}
    assert await other.leave() == ErrorCode.NONE
    assert (group.subscribed_topics, looked.count) == ({"orders"}, 1)
    assert group.used_expressions == frozenset()
    for consumer in consumers:
        assert await consumer.leave() == ErrorCode.NONE
    assert (group.subscribed_topics, group.members) == (frozenset(), {})
