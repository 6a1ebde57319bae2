"""AddPartitionsToTxn (key 24), versions 0-5: a transaction will write to these partitions (KIP-98).

Clients use v0-3, and only before transactions v2. From v4 on it is for brokers (KIP-890): several
transactions at once, and `verify_only`, which adds nothing. v2 knows PRODUCER_FENCED.
One partition that does not exist fails all the others of its transaction.
"""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
from kafkalite.coordinators.transaction_coordinator.transaction import (
    VERSION_1,
    VERSION_2,
    TopicPartition,
)
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import (
    AT_ONCE,
    Steps,
    at_once,
    cut,
    in_slices,
    mapped,
    mapped_in_steps,
)
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

_BATCHED_SINCE: Final = 4
_PRODUCER_FENCED_SINCE: Final = 2

Codes = dict[TopicPartition, ErrorCode]


def handle(
    services: Services, context: RequestContext, request: AddPartitionsToTxnRequest
) -> AddPartitionsToTxnResponse | Coroutine[Any, Any, AddPartitionsToTxnResponse]:
    steps = _respond(services, context, request)
    # No element is smaller than the number of a partition.
    return at_once(steps) if context.request_bytes <= 4 * AT_ONCE else in_slices(steps, context)


def _respond(
    services: Services, context: RequestContext, request: AddPartitionsToTxnRequest
) -> Steps[AddPartitionsToTxnResponse]:
    if context.api_version < _BATCHED_SINCE:
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
        found = yield from _add(services, context, transaction)
        results = yield from _results(transaction, found)
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)
    response = AddPartitionsToTxnResponse()
    is_supported = True
    for each in request.transactions:
        codes = yield from _add(services, context, each)
        is_supported = is_supported and ErrorCode.UNSUPPORTED_VERSION not in codes.values()
        response.results_by_transaction.append(
            AddPartitionsToTxnResult(
                transactional_id=each.transactional_id,
                topic_results=(yield from _results(each, codes)),
            )
        )
    if not is_supported:
        return AddPartitionsToTxnResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return response


def _add(
    services: Services, context: RequestContext, transaction: AddPartitionsToTxnTransaction
) -> Steps[Codes]:
    """All of a transaction's partitions are added together, or none is."""
    codes: Codes = {}
    is_missing = False
    for topic in transaction.topics:
        found = services.topics.get(topic.name)
        count = 0 if found is None else len(found.partitions)
        for some in cut(topic.partitions):
            yield
            for index in some:
                code = ErrorCode.OPERATION_NOT_ATTEMPTED
                if not 0 <= index < count:
                    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    is_missing = True
                codes[TopicPartition(topic.name, index)] = code
    if is_missing:
        return codes
    producer = Producer(
        transaction.transactional_id, transaction.producer_id, transaction.producer_epoch
    )
    if transaction.verify_only:
        for each in codes:
            codes[each] = _verify(services, context, producer, each)
            yield
        return codes
    code = ErrorCode.NONE
    try:
        services.transaction_coordinator.add_partitions(
            producer,
            context.node_id,
            frozenset(codes),
            client_version=VERSION_2 if context.api_version >= _BATCHED_SINCE else VERSION_1,
        )
    except KafkaError as error:
        code = error.code
        if code is ErrorCode.PRODUCER_FENCED and context.api_version < _PRODUCER_FENCED_SINCE:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
    return dict.fromkeys(codes, code)


def _verify(
    services: Services, context: RequestContext, producer: Producer, where: TopicPartition
) -> ErrorCode:
    try:
        services.transaction_coordinator.verify_partition(producer, context.node_id, where)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def _results(
    transaction: AddPartitionsToTxnTransaction, codes: Codes
) -> Steps[list[AddPartitionsToTxnTopicResult]]:
    is_tried = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION not in codes.values()
    if is_tried and not transaction.verify_only:
        return (yield from mapped_in_steps(partial(_topic_result, codes), transaction.topics))
    # Else each partition is told of once, however often it was named, and nothing else.
    by_topic: dict[str, AddPartitionsToTxnTopicResult] = {}
    for where, code in codes.items():
        result = by_topic.setdefault(where.topic, AddPartitionsToTxnTopicResult(name=where.topic))
        result.results_by_partition.append(
            AddPartitionsToTxnPartitionResult(
                partition_index=where.partition, partition_error_code=code
            )
        )
        yield
    return list(by_topic.values())


def _topic_result(
    codes: Codes, topic: AddPartitionsToTxnTopic
) -> Steps[AddPartitionsToTxnTopicResult]:
    def told(index: int) -> AddPartitionsToTxnPartitionResult:
        code = codes[TopicPartition(topic.name, index)]
        return AddPartitionsToTxnPartitionResult(partition_index=index, partition_error_code=code)

    partitions = yield from mapped(told, topic.partitions)
    return AddPartitionsToTxnTopicResult(name=topic.name, results_by_partition=partitions)
