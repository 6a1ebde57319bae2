"""ShareGroupDescribe: members and their partitions, of groups that may be described."""

from __future__ import annotations

import trio

from kafkalite.security.acls import Operation, ResourceType
from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.apis.share_group import (
    beat,
    describe,
    find_coordinator,
    turn_off,
)
from tests.kafkalite.conftest import Client
from tests.kafkalite.security.secured import Users, allow, grant

NOT_ASKED = -(2**31)


async def test_a_group_with_its_members(broker: a_broker, client: Client) -> None:
    broker.create_topic("t", 1)
    await beat(client, "a", 0, "t", rack_id="r1")
    (group,) = await describe(client, "queue")
    assert (group.error_code, group.group_id, group.assignor_name) == (0, "queue", "simple")
    assert group.group_state == "Stable"
    (member,) = group.members
    assert (member.member_id, member.rack_id) == ("a", "r1")
    assert (member.client_id, member.client_host) == ("test", "/127.0.0.1")
    assert member.subscribed_topic_names == ["t"]


async def test_operations_are_told_when_asked_for(broker: a_broker, client: Client) -> None:
    broker.create_topic("t", 1)
    await beat(client, "a", 0, "t")
    (silent,) = await describe(client, "queue")
    assert silent.authorized_operations == NOT_ASKED
    known, unknown = await describe(client, "queue", "nil", with_operations=True)
    told = {each for each in range(32) if known.authorized_operations >> each & 1}
    assert told == {
        Operation.READ,
        Operation.DELETE,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    }
    assert unknown.authorized_operations == NOT_ASKED


async def test_groups_that_are_not_there(client: Client) -> None:
    await find_coordinator(client)
    unknown, nameless = await describe(client, "nil", "")
    assert (unknown.error_code, unknown.error_message) == (
        ErrorCode.GROUP_ID_NOT_FOUND,
        "Group nil not found.",
    )
    assert nameless.error_code == ErrorCode.INVALID_GROUP_ID


async def test_a_group_with_a_secret_topic_is_hidden(users: Users) -> None:
    root, alice = await users.user("root"), await users.user("alice")
    answer = await beat(root, "a", 0, "secret")
    (refused,) = await describe(alice, "queue")
    assert refused.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    await grant(users, allow(Operation.DESCRIBE, ResourceType.GROUP, "queue"))
    with trio.fail_after(10):
        while answer.assignment is None or not answer.assignment.topic_partitions:
            await trio.sleep(0.05)
            answer = await beat(root, "a", answer.member_epoch)
            assert answer.error_code == 0
    (hidden,) = await describe(alice, "queue")
    assert hidden.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert hidden.members == []


async def test_without_the_feature_there_are_no_share_groups(client: Client) -> None:
    await turn_off(client)
    (group,) = await describe(client, "queue")
    assert (group.group_id, group.error_code) == ("queue", ErrorCode.UNSUPPORTED_VERSION)
