"""AddPartitionsToTxn: all partitions are added, or none."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kafkalite.apis.add_partitions_to_txn import _respond
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from tests.freed_in_steps import most_freed
from tests.kafkalite.transactional import TOPIC, Transactional


async def test_one_unknown_partition_spoils_the_others(writer: Transactional) -> None:
    assert await writer.add(0, 7) is ErrorCode.OPERATION_NOT_ATTEMPTED
    assert await writer.add(7, 0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await writer.state() == "Empty"


@pytest.mark.parametrize("internal", ["__consumer_offsets", "__transaction_state"])
async def test_clients_add_no_internal_topics(writer: Transactional, internal: str) -> None:
    """Neither partitions that are there, nor others."""
    named = {TOPIC: [0, 7], internal: [0, 99]}
    topics = [AddPartitionsToTxnTopic(name=each, partitions=named[each]) for each in named]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=writer.id,
        v3_and_below_producer_id=writer.producer_id,
        v3_and_below_producer_epoch=writer.epoch,
        v3_and_below_topics=topics,
    )
    answer = await writer.client.ask(request, 3)
    told = {
        topic.name: [each.partition_error_code for each in topic.results_by_partition]
        for topic in answer.results_by_topic_v3_and_below
    }
    refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert told == {
        TOPIC: [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
        internal: [refused, refused],
    }
    assert await writer.state() == "Empty"


async def test_what_is_named_twice_is_told_twice(writer: Transactional) -> None:
    """The partitions of all its places are added; Apache Kafka answers the same."""
    topics = [AddPartitionsToTxnTopic(name=TOPIC, partitions=[each]) for each in (1, 0, 1)]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=writer.id,
        v3_and_below_producer_id=writer.producer_id,
        v3_and_below_producer_epoch=writer.epoch,
        v3_and_below_topics=topics,
    )
    answer = await writer.client.ask(request, 3)
    told = [
        [each.partition_index for each in topic.results_by_partition]
        for topic in answer.results_by_topic_v3_and_below
    ]
    assert told == [[1], [0], [1]]
    asked = DescribeTransactionsRequest(transactional_ids=[writer.id])
    (described,) = (await writer.client.ask(asked)).transaction_states
    assert [(each.topic, each.partitions) for each in described.topics] == [(TOPIC, [0, 1])]


async def test_very_many_partitions_are_added_together_or_not_at_all(writer: Transactional) -> None:
    many = [0, 1] * 500
    assert await writer.add(*many, 7) is ErrorCode.OPERATION_NOT_ATTEMPTED
    assert await writer.state() == "Empty"
    assert await writer.add(*many) is ErrorCode.NONE
    assert await writer.state() == "Ongoing"


@pytest.mark.pure
def test_what_very_many_topics_leave_is_freed_little_by_little() -> None:
    taken: list[int] = []
    services: Any = SimpleNamespace(
        topics=SimpleNamespace(get=lambda name: SimpleNamespace(partitions=[None])),
        transaction_coordinator=SimpleNamespace(
            add_partitions=lambda producer, node_id, named, **_: taken.append(len(named))
        ),
    )
    context: Any = SimpleNamespace(api_version=3, node_id=1)
    topics = [(f"topic-{number}", [0]) for number in range(4000)]
    assert most_freed(_respond(services, context, ([], "id", 1, 1, topics))) < 2500
    topics.append(("topic", [7]))
    assert most_freed(_respond(services, context, ([], "id", 1, 1, topics))) < 2500
    assert taken == [4000]
