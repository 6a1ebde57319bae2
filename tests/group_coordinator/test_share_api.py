"""Requests about share groups: what no group accepts, groups of other protocols, descriptions."""

from __future__ import annotations

import pytest

from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.join_group import JoinGroupRequest
from tests.group_coordinator.in_memory import Context
from tests.group_coordinator.share_consumers import settle

pytestmark = pytest.mark.usefixtures("size")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_id": "x" * 37}, ErrorCode.INVALID_REQUEST),
        ({"group_id": " "}, ErrorCode.INVALID_REQUEST),
        ({"rack_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"subscribed_topic_names": []}, ErrorCode.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -2}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": 5}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"member_epoch": -1}, ErrorCode.GROUP_ID_NOT_FOUND),
    ],
)
async def test_what_is_refused_of_a_first_heartbeat(autojump_clock, world, consumers, fields, code):
    (a,) = consumers("a")
    assert a.beat(**fields) == code
    assert not world.log.batches


async def test_it_is_described(autojump_clock, world, consumers):
    (a,) = consumers("a")
    await settle(a)
    known, unknown, nameless = (
        world.coordinator.share.describe(Context(), group_id) for group_id in ("queue", "nil", "")
    )
    assert (known.group_state, known.assignor_name) == ("Stable", "simple")
    (member,) = known.members
    assert member.subscribed_topic_names == ["orders"]
    assert [topic.partitions for topic in member.assignment.topic_partitions] == [[0, 1, 2, 3]]
    assert unknown.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert unknown.error_message == "Group nil not found."
    assert nameless.error_code == ErrorCode.INVALID_GROUP_ID
    (listed,) = drained(world.coordinator.administration.list_groups(Context(), [], ["share"]))
    assert (listed.group_id, listed.protocol_type, listed.group_state) == (
        "queue",
        "share",
        "Stable",
    )


async def test_other_protocols_stay_out(autojump_clock, world, consumers):
    (a,) = consumers("a")
    await settle(a)
    join = JoinGroupRequest(group_id="queue", session_timeout_ms=10_000, protocol_type="consumer")
    answer = await world.coordinator.join_group(Context(), join)
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    beat = ConsumerGroupHeartbeatRequest(
        group_id="queue",
        member_id="x",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    refused = await world.coordinator.consumer_group_heartbeat(Context(1), beat)
    assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    consumer = world.consumer("other")
    await consumer.beat()
    (stranger,) = consumers("s")
    assert stranger.beat(group_id="other") == ErrorCode.GROUP_ID_NOT_FOUND
