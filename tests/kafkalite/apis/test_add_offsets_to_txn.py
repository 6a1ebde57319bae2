"""AddOffsetsToTxn: the group's partition of __consumer_offsets joins the transaction."""

from __future__ import annotations

import pytest

from kafkalite.group_coordinator.java_hash import java_hash
from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.kafkalite.few_partitions import FEW_PARTITIONS
from tests.kafkalite.transactional import GROUP, NONE, Transactional


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
    index = java_hash(GROUP) % FEW_PARTITIONS["offsets.topic.num.partitions"]
    assert [(topic.topic, topic.partitions) for topic in found.topics] == [
        ("__consumer_offsets", [index])
    ]
    writer.epoch -= 1
    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert await add(writer, version) == fenced


async def test_the_first_need_of_offsets_creates_their_topic(connect) -> None:
    """Its 50 partitions are opened in slices: the watchdog of every test would tell."""
    async with broker() as running:
        writer = Transactional(await connect(running))
        await writer.client.ask(FindCoordinatorRequest(key_type=1, key=writer.id), 3)
        assert await writer.init() is NONE
        assert await add(writer, 4) == NONE
        request = MetadataRequest(topics=[MetadataRequestTopic(name="__consumer_offsets")])
        (topic,) = (await writer.client.ask(request)).topics
        assert len(topic.partitions) == 50
