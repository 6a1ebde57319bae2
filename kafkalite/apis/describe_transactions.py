"""DescribeTransactions (key 65), version 0: what the coordinator knows of transactional ids
(KIP-664)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import briefly_or_in_slices, mapped
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    describe = partial(_describe, services, context)
    states = await briefly_or_in_slices(mapped(describe, request.transactional_ids), context)
    return DescribeTransactionsResponse(transaction_states=states)


def _describe(
    services: Services, context: RequestContext, transactional_id: str
) -> TransactionState:
    try:
        transaction = services.transaction_coordinator.describe(transactional_id, context.node_id)
    except KafkaError as error:
        return TransactionState(transactional_id=transactional_id, error_code=error.code)
    return TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state.title,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_timestamp_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[
            TopicData(topic=topic, partitions=sorted(indexes))
            for topic, indexes in sorted(transaction.partitions.items())
        ],
    )
