"""Heartbeats of the consumer protocol that are refused."""

from __future__ import annotations

import pytest

from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_group_heartbeat import TopicPartitions
from tests.group_coordinator.consumers import NAMES


@pytest.mark.parametrize(
    ("fields", "error_code"),
    [
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"group_id": " "}, ErrorCode.INVALID_REQUEST),
        ({"instance_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rack_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        ({"topic_partitions": None}, ErrorCode.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -3}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -2}, ErrorCode.INVALID_REQUEST),
        ({"server_assignor": "sticky"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"subscribed_topic_regex": "["}, ErrorCode.INVALID_REGULAR_EXPRESSION),
        ({"subscribed_topic_regex": "(?=x)"}, ErrorCode.INVALID_REGULAR_EXPRESSION),
        ({"member_epoch": 1}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"member_epoch": -1}, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
async def test_what_is_refused_of_a_first_heartbeat(autojump_clock, world, fields, error_code):
    response = await world.consumer().send(**NAMES | fields)
    assert response.error_code == error_code
    assert response.error_message
    listed = drained(world.coordinator.administration.list_groups(world.member().context, [], []))
    assert listed == []


async def test_the_assignors_there_are_come_in_the_order_of_kafka_s_table(autojump_clock, world):
    await world.start(group_consumer_assignors=("range", "uniform"))
    refused = await world.consumer().send(**NAMES | {"server_assignor": "sticky"})
    assert refused.error_message == (
        "ServerAssignor sticky is not supported. Supported assignors: uniform, range."
    )


async def test_epochs_that_are_not_the_member_s(autojump_clock, world):
    consumer = world.consumer()
    await consumer.beat()
    stranger = world.consumer(epoch=2)
    assert (await stranger.send()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert (await consumer.send(member_epoch=3)).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    await consumer.send(subscribed_topic_names=["orders", "payments"])
    old = {"member_epoch": 2}
    assert (await consumer.send(**old)).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    owned = [TopicPartitions(topic_id=world.topics.topic_id("orders"), partitions=[0, 1, 2, 3])]
    resent = await consumer.send(**old, topic_partitions=owned)
    assert (resent.error_code, resent.member_epoch) == (ErrorCode.NONE, 3)
    foreign = [TopicPartitions(topic_id=world.topics.topic_id("orders"), partitions=[7])]
    refused = await consumer.send(**old, topic_partitions=foreign)
    assert refused.error_code == ErrorCode.FENCED_MEMBER_EPOCH
