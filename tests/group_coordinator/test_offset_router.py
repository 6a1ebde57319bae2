"""Requests about offsets: found by the group's shard, refusals as codes of partitions or groups."""

from __future__ import annotations

import pytest

from kafkalite.wire.api_codec import drained
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.offset_delete import OffsetDeleteRequest
from kafkalite.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafkalite.wire.rows import rows_of
from tests.group_coordinator.in_memory import Context


def in_transaction(group_id: str = "group", partition: int = 0) -> TxnOffsetCommitRequest:
    asked = TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=7)
    return TxnOffsetCommitRequest(
        transactional_id="t",
        group_id=group_id,
        producer_id=1,
        producer_epoch=0,
        topics=[TxnOffsetCommitRequestTopic(name="orders", partitions=[asked])],
    )


def deleting(world, context: Context, group_id: str) -> int:
    request = OffsetDeleteRequest(group_id=group_id, topics=[])
    try:
        drained(world.coordinator.offset_router.deleting(context, request))
    except KafkaError as refused:
        return refused.code
    return ErrorCode.NONE


async def test_another_node_refuses_every_partition(autojump_clock, world):
    world.log.leaders = dict.fromkeys(range(4), 2)
    codes = await world.commit(("orders", 0, 7), ("payments", 1, 8), ("orders", 9, 1))
    refused, unknown = ErrorCode.NOT_COORDINATOR, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == [refused, refused, unknown]
    world.log.leaders = {}
    assert await world.committed("orders", 0) == -1


async def test_offsets_may_be_kept_under_the_empty_name(autojump_clock, world):
    assert await world.commit(("orders", 0, 7), group_id="") == [ErrorCode.NONE]
    assert await world.committed("orders", 0, "") == 7


async def test_a_transaction_names_its_group(autojump_clock, world):
    for request, code in (
        (in_transaction(group_id=""), ErrorCode.INVALID_GROUP_ID),
        (in_transaction(partition=9), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (in_transaction(), ErrorCode.NONE),
    ):
        answer = await world.coordinator.txn_offset_commit(Context(5), request)
        assert [p.error_code for t in answer.topics for p in t.partitions] == [code]


async def test_a_transaction_that_is_refused_as_a_whole_commits_nothing(autojump_clock, world):
    router = world.coordinator.offset_router
    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    _, topics = drained(router.txn_commit_refused(rows_of(in_transaction()), code))
    assert topics == [("orders", [(0, code)])]
    assert not world.log.batches


@pytest.mark.parametrize(
    ("group_id", "code"),
    [
        ("", ErrorCode.INVALID_GROUP_ID),
        ("unknown", ErrorCode.GROUP_ID_NOT_FOUND),
        ("group", ErrorCode.NONE),
    ],
)
async def test_deleting_asks_for_a_group(autojump_clock, world, group_id, code):
    await world.commit(("orders", 0, 7))
    assert deleting(world, Context(0), group_id) == code


async def test_another_node_neither_fetches_nor_deletes(autojump_clock, world):
    await world.commit(("orders", 0, 7))
    elsewhere = Context(node_id=2)
    router = world.coordinator.offset_router
    row = router.fetch(elsewhere, ("group", None, -1, None), require_stable=False)
    assert row == ("group", (), ErrorCode.NOT_COORDINATOR)
    assert deleting(world, elsewhere, "group") == ErrorCode.NOT_COORDINATOR
