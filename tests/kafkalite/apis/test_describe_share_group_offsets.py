"""DescribeShareGroupOffsets: where a share group is, and how far behind."""

from __future__ import annotations

import pytest

from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from tests.kafkalite.apis.share_group import (
    GROUP,
    alter,
    described,
    find_coordinator,
    turn_off,
)
from tests.kafkalite.apis.share_member import ACCEPT, Member, produce
from tests.kafkalite.conftest import Client


@pytest.mark.parametrize(("version", "lag"), [(0, -1), (1, 2)])
async def test_offsets_and_from_version_1_on_the_lag(
    broker: a_broker, client: Client, version: int, lag: int
) -> None:
    broker.create_topic("t", 1)
    for value in (b"a", b"b", b"c"):
        await produce(client, value)
    await alter(client, ("t", 0, 1))
    group = await described(client, version=version)
    assert (group.group_id, group.error_code) == (GROUP, 0)
    (topic,) = group.topics
    assert (topic.topic_name, topic.topic_id) == ("t", broker.topic_id("t"))
    (partition,) = topic.partitions
    assert (partition.start_offset, partition.lag, partition.error_code) == (1, lag, 0)


async def test_what_is_done_behind_the_start_does_not_lag(broker: a_broker, client: Client) -> None:
    broker.create_topic("t", 1)
    for value in (b"a", b"b", b"c"):
        await produce(client, value)
    await alter(client, ("t", 0, 0))
    member = Member(client, broker.topic_id("t"))
    await member.fetch()
    assert await member.say((2, 2, ACCEPT)) == 0
    (partition,) = (await described(client)).topics[0].partitions
    assert (partition.start_offset, partition.lag) == (0, 2)


async def test_partitions_that_are_asked_for(broker: a_broker, client: Client) -> None:
    broker.create_topic("t", 2)
    await alter(client, ("t", 0, 1))
    named = [
        DescribeShareGroupOffsetsRequestTopic("t", [0, 1]),
        DescribeShareGroupOffsetsRequestTopic("nil", [0]),
    ]
    request = DescribeShareGroupOffsetsRequest(
        [DescribeShareGroupOffsetsRequestGroup(GROUP, named)]
    )
    ((group),) = (await client.ask(request)).groups
    assert {
        (topic.topic_name, each.partition_index): (each.start_offset, each.error_code)
        for topic in group.topics
        for each in topic.partitions
    } == {
        ("t", 0): (1, 0),
        ("t", 1): (-1, 0),
        ("nil", 0): (-1, 0),
    }


async def test_a_group_that_is_not_there_has_no_offsets(client: Client) -> None:
    await find_coordinator(client)
    group = await described(client, "nil")
    assert (group.group_id, group.error_code, group.topics) == ("nil", 0, [])


async def test_without_the_feature_there_are_no_share_groups(client: Client) -> None:
    await turn_off(client)
    assert (await described(client)).error_code == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize(("group", "partitions"), [("", [0]), (GROUP, []), (GROUP, [0, -1])])
async def test_no_such_state_can_be_read(
    broker: a_broker, client: Client, group: str, partitions: list[int]
) -> None:
    broker.create_topic("t", 1)
    await alter(client, ("t", 0, 1))
    topics = [DescribeShareGroupOffsetsRequestTopic("t", partitions)]
    asked = DescribeShareGroupOffsetsRequestGroup(group, topics)
    (told,) = (await client.ask(DescribeShareGroupOffsetsRequest([asked]))).groups
    assert (told.group_id, told.error_code) == (group, ErrorCode.UNKNOWN_SERVER_ERROR)
    assert told.error_message.startswith("The server experienced an unexpected error")
    assert told.topics == []
