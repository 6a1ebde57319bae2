"""ConsumerGroupHeartbeat: joining, staying and leaving by one request (KIP-848)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.kafkalite.group_requests import with_words


def first(member_id: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="group",
        member_id=member_id,
        member_epoch=0,
        rebalance_timeout_ms=9_000,
        subscribed_topic_names=["words"],
        topic_partitions=[],
    )


@pytest.mark.parametrize("version", [0, 1])
async def test_a_member_joins_stays_and_leaves(clients: Any, version: int) -> None:
    client, topic_id = await with_words(clients)
    joined = await client.ask(first("" if version == 0 else "mine"), version)
    assert (joined.error_code, joined.heartbeat_interval_ms) == (ErrorCode.NONE, 5000)
    assert joined.member_id == "mine" if version else joined.member_id
    (topic,) = joined.assignment.topic_partitions
    assert (topic.topic_id, topic.partitions) == (topic_id, [0])

    async def beat(epoch: int, member_id: str = joined.member_id) -> Any:
        request = ConsumerGroupHeartbeatRequest(
            group_id="group", member_id=member_id, member_epoch=epoch
        )
        return await client.ask(request, version)

    stays = await beat(joined.member_epoch)
    assert (stays.error_code, stays.assignment) == (ErrorCode.NONE, None)
    assert (await beat(joined.member_epoch + 7)).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert (await beat(1, "other")).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert (await beat(-1)).error_code == ErrorCode.NONE
    assert (await beat(joined.member_epoch)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_since_version_1_a_member_makes_its_id(clients: Any) -> None:
    client, _ = await with_words(clients)
    refused = await client.ask(first(""), 1)
    assert refused.error_code == ErrorCode.INVALID_REQUEST
