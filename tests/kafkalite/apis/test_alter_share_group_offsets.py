"""AlterShareGroupOffsets: an empty group begins where it is told to."""

from __future__ import annotations

import pytest

from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.kafka_uuid import kafka_uuid
from tests.kafkalite.apis.share_group import GROUP, alter, beat, offsets, turn_off
from tests.kafkalite.apis.share_member import Member, produce
from tests.kafkalite.conftest import Client


async def test_the_group_begins_there(broker: a_broker, client: Client) -> None:
    broker.create_topic("t", 2)
    for value in (b"a", b"b", b"c"):
        await produce(client, value)
    answer = await alter(client, ("t", 0, 1))
    assert (answer.error_code, answer.error_message) == (0, None)
    (topic,) = answer.responses
    assert (topic.topic_name, topic.topic_id) == ("t", broker.topic_id("t"))
    assert [(each.partition_index, each.error_code) for each in topic.partitions] == [(0, 0)]
    assert await offsets(client) == {("t", 0): 1}
    assert await Member(client, broker.topic_id("t")).fetch() == [b"b", b"c"]


async def test_it_may_go_back(broker: a_broker, client: Client) -> None:
    broker.create_topic("t", 1)
    for offset in (5, 2):
        await alter(client, ("t", 0, offset))
        assert await offsets(client) == {("t", 0): offset}


@pytest.mark.parametrize(("topic", "partition"), [("nil", 0), ("t", 9)])
async def test_partitions_that_are_not_there(
    broker: a_broker, client: Client, topic: str, partition: int
) -> None:
    broker.create_topic("t", 1)
    answer = await alter(client, ("t", 0, 1), (topic, partition, 1))
    codes = {
        (each.topic_name, one.partition_index): one.error_code
        for each in answer.responses
        for one in each.partitions
    }
    assert codes == {("t", 0): 0, (topic, partition): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


async def test_a_topic_that_is_named_twice_is_answered_once(
    broker: a_broker, client: Client
) -> None:
    broker.create_topic("t", 2)
    (topic,) = (await alter(client, ("t", 0, 1), ("t", 1, 2), ("t", 0, 3))).responses
    assert [(each.partition_index, each.error_code) for each in topic.partitions] == [
        (0, 0),
        (1, 0),
        (0, 0),
    ]
    assert await offsets(client) == {("t", 0): 3, ("t", 1): 2}


async def test_a_group_with_members_keeps_its_offsets(broker: a_broker, client: Client) -> None:
    broker.create_topic("t", 1)
    await beat(client, "a", 0, "t")
    answer = await alter(client, ("t", 0, 1))
    assert answer.error_code == ErrorCode.NON_EMPTY_GROUP
    assert answer.responses == []


async def test_without_the_feature_there_are_no_share_groups(client: Client) -> None:
    await turn_off(client)
    answer = await alter(client, ("t", 0, 1))
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert answer.error_message == "The version of API is not supported."


async def test_nothing_is_changed_for_a_negative_partition(
    broker: a_broker, client: Client
) -> None:
    broker.create_topic("t", 1)
    answer = await alter(client, ("t", 0, 1), ("t", -2, 1))
    where = f"{GROUP} {kafka_uuid(broker.topic_id('t'))} -2"
    assert answer.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert answer.error_message == (
        f"Initialize share group parameters has invalid partitionId - {where}"
    )
    assert answer.responses == []
    assert await offsets(client) == {}
