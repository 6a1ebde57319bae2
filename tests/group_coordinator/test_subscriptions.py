"""Subscriptions by name and by regular expression."""

from __future__ import annotations

import logging
from uuid import UUID

import pytest
import trio

from kafkalite.group_coordinator.subscriptions import (
    MOST_TOPICS,
    TopicIds,
    assignment_from,
    subscribed_topics_of,
    subscription_from,
    topics_in,
)
from kafkalite.wire.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from kafkalite.wire.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from kafkalite.wire.messages.stored import encode
from tests.group_coordinator.consumers import orders
from tests.group_coordinator.in_memory import MemoryTopics


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


async def test_an_expression_without_topics_begins_no_epoch(autojump_clock, world):
    """Unless another member has it, and it was looked at."""
    first, second = (world.consumer(topics=None, regex="none.*") for _ in range(2))
    await first.beat()
    assert first.epoch == 1
    await second.beat()
    assert second.epoch == 2
    world.set_partitions("nonesuch", 1)
    await second.beat()
    assert second.epoch == 3
    await second.beat(subscribed_topic_regex="")
    assert second.epoch == 3


async def test_an_expression_that_finds_what_was_subscribed_begins_an_epoch(autojump_clock, world):
    consumer = world.consumer(topics=["orders"])
    await consumer.beat()
    before = consumer.epoch
    await consumer.beat(subscribed_topic_regex="ord.*")
    assert consumer.epoch == before + 1


async def test_what_a_member_may_describe_is_looked_at_after_a_while(autojump_clock, world):
    await world.start(group_consumer_regex_refresh_interval_ms=20_000)
    consumer = world.consumer(topics=None, regex=".*", may_describe={"orders"}.__contains__)
    await consumer.beat()
    both = orders(0, 1, 2, 3) | {("payments", 0), ("payments", 1)}
    for may, before, after in (
        (None, orders(0, 1, 2, 3), both),
        ({"payments"}.__contains__, both, {("payments", 0), ("payments", 1)}),
    ):
        consumer.may_describe = may
        await trio.sleep(18)
        await consumer.beat(topic_partitions=None)
        assert consumer.partitions == before
        await trio.sleep(3)
        for _ in range(2):
            await consumer.beat(topic_partitions=None)
        assert consumer.partitions == after
    await consumer.beat(subscribed_topic_regex="")
    await trio.sleep(20)
    assert not world.group().next_look.is_set


async def test_with_a_new_expression_all_are_looked_at(autojump_clock, world):
    few = world.consumer(topics=None, regex="o.*|p.*", may_describe={"orders"}.__contains__)
    await few.beat()
    assert not world.group().is_subscribed_to("payments")
    await world.consumer(topics=None, regex="none").beat()
    assert world.group().expressions == {"o.*|p.*": {"orders", "payments"}, "none": set()}


async def test_a_group_that_is_gone_is_not_looked_at(autojump_clock, world):
    await world.consumer(topics=None, regex=".*").beat()
    group = world.group()
    assert group.next_look.is_set
    group.close_timers()
    assert not group.next_look.is_set


def test_a_malformed_subscription_is_logged_with_group_and_member(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    assert subscribed_topics_of("workers", {"member-7": b"\0"}) is None
    (line,) = caplog.messages
    assert line.startswith("group workers: the subscription of member member-7 is not")


def subscription(*topics: str) -> bytes:
    return encode(ConsumerProtocolSubscription(topics=list(topics)), 0)


def test_topics_of_members_alike_are_looked_at_once() -> None:
    class Seen(MemoryTopics):
        def topic_id(self, topic: str) -> UUID | None:
            asked.append(topic)
            return super().topic_id(topic)

    asked: list[str] = []
    topics = Seen()
    ids = TopicIds(topics)
    for _ in range(100):
        of_both = ids.of(frozenset({"orders", "payments", "missing"}))
    assert sorted(asked) == ["missing", "orders", "payments"]
    assert of_both == {topics.ids["orders"], topics.ids["payments"]}
    assert ids.counts(frozenset({"orders"})) == {topics.ids["orders"]: 4}


def test_a_very_large_subscription_is_not_read(caplog: pytest.LogCaptureFixture) -> None:
    many = [f"t{number}" for number in range(MOST_TOPICS)]
    read = subscription_from(subscription(*many), "workers", "a")
    assert read is not None
    assert read.topics == many
    assert not caplog.messages
    assert subscription_from(subscription(*many, "one"), "workers", "a") is None
    (said,) = caplog.messages
    assert said.startswith("group workers: the subscription of member a is not read: ")


def test_subscriptions_that_are_very_large_together_are_not_read(
    caplog: pytest.LogCaptureFixture,
) -> None:
    large = {f"m{number}": subscription(f"{number:030000}") for number in range(34)}
    assert len(subscribed_topics_of("workers", large) or ()) == 34
    one_more = {**large, "b": subscription("x" * 30_000)}
    assert subscribed_topics_of("workers", one_more) is None
    many = [f"t{number}" for number in range(MOST_TOPICS)]
    halves = {"a": subscription(*many[::2]), "b": subscription(*many[1::2])}
    assert subscribed_topics_of("workers", halves) == frozenset(many)
    assert subscribed_topics_of("workers", {**halves, "c": subscription("one")}) is None
    negative = subscription()[:2] + b"\xff" * 4
    assert (
        subscribed_topics_of("workers", {**halves, "c": subscription("a"), "d": negative}) is None
    )
    begins = "group workers: its subscriptions are not read: "
    assert [each.startswith(begins) for each in caplog.messages] == [True] * 3


def test_subscriptions_that_are_alike_are_read_once() -> None:
    many = [f"t{number}" for number in range(MOST_TOPICS)]
    alike = {f"m{number}": subscription(*many) for number in range(9)}
    assert subscribed_topics_of("workers", alike) == frozenset(many)


def test_a_malformed_assignment_is_logged_with_group_and_member(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    assert assignment_from(b"\0", "workers", "member-7") is None
    (line,) = caplog.messages
    assert line.startswith("group workers: the assignment of member member-7 is not")


@pytest.mark.parametrize(
    "odd",
    [
        b"\0\1" + subscription("orders")[2:],
        b"\0\x09" + subscription("orders")[2:],
        b"\xff\xff" + subscription("orders")[2:],
        subscription("orders") + b"more",
    ],
    ids=["without owned partitions", "unknown version", "negative version", "more behind it"],
)
def test_topics_are_known_whatever_follows_them(
    caplog: pytest.LogCaptureFixture, odd: bytes
) -> None:
    """kafka-go, NestJS, Faust and others say version 1, and leave out its field."""
    assert subscribed_topics_of("workers", {"a": odd}) == {"orders"}
    assert topics_in(odd) == ["orders"]
    assert not caplog.messages


def test_an_assignment_ends_where_its_fields_do() -> None:
    whole = encode(ConsumerProtocolAssignment(user_data=b"notes"), 1)
    for odd in (whole + b"more", b"\0\x09" + whole[2:]):
        assert assignment_from(odd, "workers", "a") == ConsumerProtocolAssignment(
            user_data=b"notes"
        )
