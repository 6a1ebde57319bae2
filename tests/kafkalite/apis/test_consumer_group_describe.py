"""ConsumerGroupDescribe: members, epochs, assignments; the protocol of each since version 1."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.kafkalite.authorized_operations import GROUP_OPERATIONS, NO_OPERATIONS
from tests.kafkalite.group_requests import join, with_words


async def described(client: Any, version: int = 1, **options: bool) -> Any:
    request = ConsumerGroupDescribeRequest(group_ids=["group"], **options)
    (group,) = (await client.ask(request, version)).groups
    return group


@pytest.mark.parametrize("version", [0, 1])
async def test_members_and_their_assignments_are_described(clients: Any, version: int) -> None:
    client, topic_id = await with_words(clients)
    request = ConsumerGroupHeartbeatRequest(
        group_id="group",
        member_id="mine",
        member_epoch=0,
        rebalance_timeout_ms=9_000,
        subscribed_topic_names=["words"],
        topic_partitions=[],
    )
    joined = await client.ask(request)
    group = await described(client, version)
    assert (group.error_code, group.group_state, group.assignor_name) == (0, "Stable", "uniform")
    assert group.group_epoch == group.assignment_epoch == joined.member_epoch
    (member,) = group.members
    assert (member.member_id, member.client_id) == ("mine", "reader")
    assert member.subscribed_topic_names == ["words"]
    assert member.assignment == member.target_assignment
    (topic,) = member.assignment.topic_partitions
    assert (topic.topic_id, topic.topic_name, topic.partitions) == (topic_id, "words", [0])
    assert member.member_type == (1 if version else -1)


async def test_operations_are_told_on_request(clients: Any) -> None:
    client, _ = await with_words(clients)
    await client.ask(
        ConsumerGroupHeartbeatRequest(
            group_id="group",
            member_id="mine",
            member_epoch=0,
            rebalance_timeout_ms=9_000,
            subscribed_topic_names=["words"],
            topic_partitions=[],
        )
    )
    assert (await described(client)).authorized_operations == NO_OPERATIONS
    told = await described(client, include_authorized_operations=True)
    assert told.authorized_operations == GROUP_OPERATIONS


async def test_a_classic_group_is_no_consumer_group(clients: Any) -> None:
    client, _ = await with_words(clients)
    await join(client)
    assert (await described(client)).error_code == ErrorCode.GROUP_ID_NOT_FOUND
