"""The gate before requests of transactions whose coordinators may be other brokers.

A partition's leader, or a group's coordinator, asks the transaction's coordinator before the first
batch, and appends when that has answered. In one process there is no such gate: the handlers ask
the coordinator beside them. Source: ReplicaManager.handleProduceAppend and
maybeSendPartitionsToTransactionCoordinator.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kafkalite.apis import txn_offset_commit
from kafkalite.coordinators.produce_transactions import VERIFIES
from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
from kafkalite.coordinators.transaction_joins import FirstAppend, TransactionJoins, join_all
from kafkalite.replica.produced_batches import check_shape, is_transactional
from kafkalite.requests.slices import Steps, cut, in_slices
from kafkalite.requests.suspension import has_to_wait
from kafkalite.wire.api_keys import PRODUCE_BY_ID_SINCE, PRODUCE_OF_V2_SINCE, ApiKey
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import NO_SEQUENCE, RecordBatch

if TYPE_CHECKING:
    from kafkalite.apis import Api, Handler
    from kafkalite.requests.context import RequestContext
    from kafkalite.server.gates import Gate
    from kafkalite.services import Services
    from kafkalite.wire.messages.produce import ProduceRequestRow
    from kafkalite.wire.messages.txn_offset_commit import TxnOffsetCommitRequestRow


def transaction_gate(joins: TransactionJoins) -> Gate:
    """The gate of a broker."""

    def gate(api: Api, handle: Handler) -> Handler:
        if api.key is ApiKey.PRODUCE:
            return _producing(joins, handle)
        if api.key is ApiKey.TXN_OFFSET_COMMIT:
            return _committing(joins, handle)
        return handle

    return gate


def _producing(joins: TransactionJoins, handle: Handler) -> Handler:
    def produce(services: Services, context: RequestContext, request: ProduceRequestRow) -> Any:
        if request[0] is None:
            return handle(services, context, request)
        return produce_joined(services, context, request)

    async def produce_joined(
        services: Services, context: RequestContext, request: ProduceRequestRow
    ) -> Any:
        adds = context.api_version >= PRODUCE_OF_V2_SINCE
        appends: list[FirstAppend] = []
        if adds or services.config.boolean(VERIFIES, context.node_id):
            appends = await in_slices(_first_appends(services, context, request), context)
        return await _handled(joins, handle, services, context, request, appends, adds=adds)

    return produce


def _committing(joins: TransactionJoins, handle: Handler) -> Handler:
    async def commit(
        services: Services, context: RequestContext, request: TxnOffsetCommitRequestRow
    ) -> Any:
        appends: list[FirstAppend] = []
        if await in_slices(txn_offset_commit.names_any(services, request[7]), context):
            with suppress(KafkaError):  # the handler says it
                partition = txn_offset_commit.first_written(services, context, request)
                if partition is not None:
                    producer = Producer(request[0], request[2], request[3])
                    appends.append(FirstAppend(partition, producer, NO_SEQUENCE))
        adds = txn_offset_commit.adds(context)
        return await _handled(joins, handle, services, context, request, appends, adds=adds)

    return commit


async def _handled(
    joins: TransactionJoins,
    handle: Handler,
    services: Services,
    context: RequestContext,
    request: Any,
    appends: list[FirstAppend],
    *,
    adds: bool,
) -> Any:
    """The handler's response, once the coordinators have answered."""
    integer = services.config.integer
    await context.connection.move_to_task()
    joined = await join_all(
        joins,
        appends,
        adds=adds,
        pause_seconds=integer("add.partitions.to.txn.retry.backoff.ms") / 1000,
        patience_seconds=integer("add.partitions.to.txn.retry.backoff.max.ms") / 1000,
    )
    context.guard_of = joined.guard_of
    try:
        response = handle(services, context, request)
        return await response if has_to_wait(response) else response
    finally:
        context.guard_of = None


def _first_appends(
    services: Services, context: RequestContext, request: ProduceRequestRow
) -> Steps[list[FirstAppend]]:
    """The transactional batches for partitions that are led here. The handler says what is
    wrong."""
    found: list[FirstAppend] = []
    transactional_id = request[0] or ""
    uses_topic_ids = context.api_version >= PRODUCE_BY_ID_SINCE
    for name, topic_id, partitions in request[3]:
        topic = services.topics.by_id(topic_id) if uses_topic_ids else services.topics.get(name)
        for some in cut(partitions):
            yield
            for index, records in some:
                partition = None if topic is None else topic.partition(index)
                if partition is None:
                    continue
                with suppress(KafkaError):
                    partition.check_leader(context.node_id, -1, leader_only=True)
                    whole = check_shape(records, context.api_version)
                    batch = RecordBatch(whole)
                    if is_transactional(whole) and batch.has_producer_id:
                        producer = Producer(
                            transactional_id, batch.producer_id, batch.producer_epoch
                        )
                        found.append(FirstAppend(partition, producer, batch.base_sequence))
    return found
