"""Appends that are not yet visible: what becomes of them."""

from __future__ import annotations

from kafkalite.replica.pending_append import PendingAppend
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from tests.kafkalite.filling import fill


async def test_the_state_of_an_append() -> None:
    async with test_broker({}) as b:
        await b.asynchronous.create_topic("t", partitions=1)
        partition = fill(b, "t", count=10)
        seen = PendingAppend(partition, 9, [], 0)
        assert seen.state(1) is ErrorCode.NONE
        assert PendingAppend(partition, 10, [], 0).state(1) is None
        assert seen.state(2) is ErrorCode.NOT_LEADER_OR_FOLLOWER
        await b.asynchronous.delete_topic("t")
        assert seen.state(1) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_an_append_waits_on_where_its_leader_leads_in_the_next_epoch_too() -> None:
    async with test_broker({}) as b:
        await b.asynchronous.create_topic("t", partitions=1)
        partition = fill(b, "t", count=10)
        appended = PendingAppend(partition, 9, [], 0)
        unseen = PendingAppend(partition, 10, [], 0)
        partition.leader_epoch += 1
        partition.metadata_changed()
        assert appended.state(1) is ErrorCode.NONE
        assert unseen.state(1) is None


async def test_an_append_is_not_acknowledged_by_a_leader_that_followed_meanwhile() -> None:
    """It may have cut the records off."""
    async with test_broker({}) as b:
        await b.asynchronous.create_topic("t", partitions=1)
        partition = fill(b, "t", count=10)
        appended = PendingAppend(partition, 9, [], 0)
        for leader_id in (2, 1):
            partition.leader_id = leader_id
            partition.leader_epoch += 1
            partition.metadata_changed()
            assert appended.state(1) is ErrorCode.NOT_LEADER_OR_FOLLOWER
