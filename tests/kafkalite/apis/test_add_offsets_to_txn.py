"""AddOffsetsToTxn: the group's partition of __consumer_offsets joins the transaction."""

from __future__ import annotations

import pytest

from kafkalite.group_coordinator.java_hash import java_hash
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from tests.kafkalite.transactional import GROUP, NONE, SMALL, Transactional

BROKER_CONFIGS = SMALL


async def add(writer: Transactional, version: int) -> int:
    request = AddOffsetsToTxnRequest(
        transactional_id=writer.id,
        producer_id=writer.producer_id,
        producer_epoch=writer.epoch,
        group_id=GROUP,
    )
    code: int = (await writer.client.ask(request, version)).error_code
    return code


@pytest.mark.parametrize("version", range(5))
async def test_the_groups_partition_is_in_the_transaction(
    writer: Transactional, version: int
) -> None:
    assert await add(writer, version) == NONE
    request = DescribeTransactionsRequest(transactional_ids=[writer.id])
    (found,) = (await writer.client.ask(request)).transaction_states
    index = java_hash(GROUP) % SMALL["offsets.topic.num.partitions"]
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [
        ("__consumer_offsets", [index])
    ]
    writer.epoch -= 1
    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert await add(writer, version) == fenced
