"""The targets of consumer groups: assignors, subscriptions and topics that change, the interval."""

from __future__ import annotations

import pytest
import trio

from kafkalite.group_coordinator import expressions
from tests.group_coordinator.consumers import orders, settle

pytestmark = pytest.mark.usefixtures("size")


async def test_many_members_share_evenly(autojump_clock, world):
    world.set_partitions("orders", 50)
    consumers = [world.consumer() for _ in range(7)]
    await settle(*consumers)
    counts = sorted(len(consumer.partitions) for consumer in consumers)
    assert counts == [7] * 6 + [8]
    assert len(set().union(*(consumer.partitions for consumer in consumers))) == 50


async def test_who_stays_keeps_what_it_has(autojump_clock, world):
    world.set_partitions("orders", 12)
    consumers = [world.consumer() for _ in range(4)]
    await settle(*consumers)
    before = [consumer.partitions for consumer in consumers]
    gone = consumers.pop()
    before.pop()
    await gone.leave()
    await settle(*consumers)
    for consumer, kept in zip(consumers, before, strict=True):
        assert kept < consumer.partitions
        assert len(consumer.partitions) == 4


async def test_the_range_assignor_keeps_numbers_together(autojump_clock, world):
    world.set_partitions("payments", 4)
    topics = ["orders", "payments"]
    consumers = [world.consumer(assignor="range", topics=topics) for _ in range(2)]
    await settle(*consumers)
    for consumer in consumers:
        by_topic = {}
        for topic, index in consumer.partitions:
            by_topic.setdefault(topic, set()).add(index)
        assert by_topic["orders"] == by_topic["payments"]


async def test_the_assignor_that_most_members_name_is_used(autojump_clock, world):
    consumers = [world.consumer(assignor="range") for _ in range(2)]
    consumers.append(world.consumer(assignor="uniform"))
    await settle(*consumers)
    described = await world.describe_consumer()
    assert described.assignor_name == "range"


@pytest.mark.parametrize(("name", "other"), [("range", "uniform"), ("uniform", "range")])
async def test_of_as_many_votes_that_of_the_member_that_is_heard_counts(
    autojump_clock, world, name, other
):
    """Range gives the first partitions to the first id, and uniform leaves them to who has them."""
    before = world.consumer(assignor=other)
    before.member_id = "b"
    await before.beat()
    heard = world.consumer(assignor=name)
    heard.member_id = "a"
    await heard.beat()
    given = orders(0, 1) if name == "range" else orders(2, 3)
    assert world.group().targets["a"] == {world.topics.topic_id("orders"): {i for _, i in given}}
    assert (await world.describe_consumer()).assignor_name == "uniform"


async def test_as_many_votes_of_several_members_are_for_uniform(autojump_clock, world):
    for name in ("uniform", "uniform", "range", "range"):
        consumer = world.consumer(assignor=name)
        await consumer.beat()
    assert world.group().preferred_assignor(consumer.member_id) == "uniform"


async def test_subscriptions_may_differ(autojump_clock, world):
    world.set_partitions("payments", 4)
    both = world.consumer(topics=["orders", "payments"])
    one = world.consumer(topics=["payments"])
    await settle(both, one)
    assert one.partitions == {("payments", index) for index in range(4)}
    assert both.partitions == orders(0, 1, 2, 3)


async def test_a_member_may_change_its_mind(autojump_clock, world):
    consumer = world.consumer()
    await consumer.beat()
    await consumer.beat(subscribed_topic_names=["payments"])
    assert consumer.partitions == set()
    await consumer.beat()
    assert consumer.partitions == {("payments", 0), ("payments", 1)}


async def test_a_topic_that_grows_is_assigned_at_the_next_heartbeat(autojump_clock, world):
    consumer = world.consumer()
    await consumer.beat()
    world.set_partitions("orders", 6)
    await consumer.beat()
    assert consumer.partitions == orders(*range(6))


async def test_a_topic_may_come_later_and_go_again(autojump_clock, world):
    consumer = world.consumer(topics=["orders", "later"])
    await consumer.beat()
    world.set_partitions("later", 1)
    await consumer.beat()
    assert consumer.partitions == orders(0, 1, 2, 3) | {("later", 0)}
    world.set_partitions("orders", 0)
    await consumer.beat()
    await consumer.beat()
    assert consumer.partitions == {("later", 0)}


async def test_changes_that_come_together_are_assigned_once(autojump_clock, world):
    await world.start(group_consumer_assignment_interval_ms=1_000)
    consumers = [world.consumer() for _ in range(4)]
    for consumer in consumers:
        await consumer.beat()
    assert world.group().assignment_epoch == 2
    assert await world.consumer_state() == "Assigning"
    await trio.sleep(1)
    await settle(*consumers)
    assert world.group().assignment_epoch == 5
    assert [len(consumer.partitions) for consumer in consumers] == [1] * 4


@pytest.mark.parametrize("topics", [{"topics": ["orders"]}, {"topics": [], "regex": "ord.*"}])
async def test_no_topic_is_looked_at_when_a_member_goes_and_none_has_changed(
    autojump_clock, world, monkeypatch: pytest.MonkeyPatch, topics
):
    stays, goes, other = world.consumer(**topics), world.consumer(**topics), world.consumer()
    await settle(stays, goes, other)
    looked_at: list[str] = []
    find = world.topics.partition_count
    monkeypatch.setattr(
        world.topics, "partition_count", lambda name: looked_at.append(name) or find(name)
    )
    epoch = world.group().epoch
    await goes.leave()
    assert (world.group().epoch, looked_at) == (epoch + 1, [])
    world.set_partitions("orders", 6)
    await other.leave()
    assert looked_at
    await settle(stays)
    assert stays.partitions == orders(*range(6))


async def test_nobody_looks_at_many_new_topics_when_a_member_goes(
    autojump_clock, world, monkeypatch: pytest.MonkeyPatch
):
    """The next heartbeat does, before which its thread has."""
    looked_at: list[str] = []

    def compiled(expression: str) -> expressions.Expression:
        def matches(name: str) -> bool:
            looked_at.append(name)
            return name.startswith("many")

        return expressions.Expression(matches)

    monkeypatch.setattr(expressions, "_compiled", compiled)
    expressions._kept.clear()
    stays, goes = (world.consumer(topics=None, regex="many.*") for _ in range(2))
    await settle(stays, goes)
    for index in range(100):
        world.set_partitions(f"many-{index}", 1)
    looked_at.clear()
    await goes.leave()
    assert looked_at == []
    await stays.beat()
    assert len(looked_at) == 100
    assert stays.partitions == {(f"many-{index}", 0) for index in range(100)}
    expressions._kept.clear()
