"""Subscriptions by name and by regular expression."""

from __future__ import annotations

from tests.group_coordinator.consumers import orders


async def test_a_regular_expression_matches_whole_names(autojump_clock, world):
    consumer = world.consumer(topics=None, regex="ord.*|pay")
    await consumer.beat()
    assert consumer.partitions == orders(0, 1, 2, 3)
    world.set_partitions("ordinary", 1)
    world.set_partitions("disorder", 1)
    await consumer.beat()
    assert consumer.partitions == orders(0, 1, 2, 3) | {("ordinary", 0)}
    assert world.group().is_subscribed_to("ordinary")
    assert not world.group().is_subscribed_to("payments")


async def test_names_and_an_expression_add_up(autojump_clock, world):
    consumer = world.consumer(topics=["payments"], regex="ord.*")
    await consumer.beat()
    assert consumer.partitions == orders(0, 1, 2, 3) | {("payments", 0), ("payments", 1)}
    await consumer.beat(subscribed_topic_regex="")
    await consumer.beat()
    assert consumer.partitions == {("payments", 0), ("payments", 1)}
    assert world.group().expressions == {}
