"""DeleteShareGroupOffsets: an empty group forgets topics."""

from __future__ import annotations

from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.apis.share_group import (
    alter,
    beat,
    delete,
    find_coordinator,
    offsets,
    turn_off,
)
from tests.kafkalite.conftest import Client


async def test_topics_are_forgotten_one_by_one(broker: a_broker, client: Client) -> None:
    for name in ("t", "u"):
        broker.create_topic(name, 1)
    await alter(client, ("t", 0, 1), ("u", 0, 2))
    answer = await delete(client, "t", "nil")
    assert (answer.error_code, answer.error_message) == (0, None)
    codes = {each.topic_name: each.error_code for each in answer.responses}
    assert codes == {"t": 0, "nil": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert {each.topic_name: each.topic_id for each in answer.responses if not each.error_code} == {
        "t": broker.topic_id("t")
    }
    assert await offsets(client) == {("u", 0): 2}


async def test_a_group_with_members_keeps_its_offsets(broker: a_broker, client: Client) -> None:
    broker.create_topic("t", 1)
    await alter(client, ("t", 0, 1))
    await beat(client, "a", 0, "t")
    answer = await delete(client, "t")
    assert answer.error_code == ErrorCode.NON_EMPTY_GROUP
    await beat(client, "a", -1)
    assert (await delete(client, "t")).error_code == 0


async def test_a_group_that_is_not_there(client: Client) -> None:
    await find_coordinator(client)
    assert (await delete(client, "t")).error_code == ErrorCode.GROUP_ID_NOT_FOUND


async def test_without_the_feature_there_are_no_share_groups(client: Client) -> None:
    await turn_off(client)
    answer = await delete(client, "t")
    assert answer.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert answer.error_message == "The version of API is not supported."
