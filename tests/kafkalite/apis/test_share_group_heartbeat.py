"""ShareGroupHeartbeat: members join, get partitions that have a state, and leave."""

from __future__ import annotations

import pytest
import trio

from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.apis.share_group import beat, describe, turn_off
from tests.kafkalite.conftest import Client


async def test_a_member_joins_and_gets_every_partition(broker: a_broker, client: Client) -> None:
    broker.create_topic("t", 2)
    answer = await beat(client, "a", 0, "t")
    assert (answer.error_code, answer.member_id) == (0, "a")
    assert answer.member_epoch > 0
    assert answer.heartbeat_interval_ms == 5000
    found: set[int] = set()
    with trio.fail_after(10):
        while found != {0, 1}:
            if answer.assignment is not None:
                (topic,) = answer.assignment.topic_partitions or [None]
                found = set() if topic is None else set(topic.partitions)
                assert topic is None or topic.topic_id == broker.topic_id("t")
            answer = await beat(client, "a", answer.member_epoch)
            assert answer.error_code == 0
            await trio.sleep(0.05)


async def test_a_member_that_leaves_is_gone(broker: a_broker, client: Client) -> None:
    broker.create_topic("t", 1)
    joined = await beat(client, "a", 0, "t")
    left = await beat(client, "a", -1)
    assert (left.error_code, left.member_epoch) == (0, -1)
    (group,) = await describe(client, "queue")
    assert (group.group_state, group.members) == ("Empty", [])
    again = await beat(client, "a", joined.member_epoch)
    assert again.error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, ErrorCode.INVALID_REQUEST),
        ({"rack_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -2}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": 7}, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
async def test_what_is_refused(client: Client, fields: dict[str, object], code: ErrorCode) -> None:
    assert (await beat(client, "a", 0, "t", **fields)).error_code == code


async def test_without_the_feature_there_are_no_share_groups(client: Client) -> None:
    await turn_off(client)
    assert (await beat(client, "a", 0, "t")).error_code == ErrorCode.UNSUPPORTED_VERSION
