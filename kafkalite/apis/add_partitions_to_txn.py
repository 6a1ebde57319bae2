"""AddPartitionsToTxn (key 24), versions 0-5: a transaction will write to these partitions (KIP-98).

Clients use v0-3, and only before transactions v2. From v4 on it is for brokers (KIP-890): several
transactions at once, and `verify_only`, which adds nothing. v2 knows PRODUCER_FENCED.
One partition that does not exist fails all the others of its transaction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
from kafkalite.coordinators.transaction_coordinator.transaction import (
    VERSION_1,
    VERSION_2,
    TopicPartition,
)
from kafkalite.requests.context import RequestContext
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
) -> AddPartitionsToTxnResponse:
    if context.api_version >= _BATCHED_SINCE:
        codes = [_add(services, context, each) for each in request.transactions]
        if any(ErrorCode.UNSUPPORTED_VERSION in each.values() for each in codes):
            return AddPartitionsToTxnResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    transactional_id=each.transactional_id, topic_results=_results(each, found)
                )
                for each, found in zip(request.transactions, codes, strict=True)
            ]
        )
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    found = _add(services, context, transaction)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_results(transaction, found))


def _add(
    services: Services, context: RequestContext, transaction: AddPartitionsToTxnTransaction
) -> Codes:
    named = dict.fromkeys(
        TopicPartition(topic.name, partition)
        for topic in transaction.topics
        for partition in topic.partitions
    )
    partitions = frozenset(named)
    missing = {each for each in partitions if not _exists(services, each)}
    if missing:
        return {
            each: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if each in missing
            else ErrorCode.OPERATION_NOT_ATTEMPTED
            for each in named
        }
    producer = Producer(
        transaction.transactional_id, transaction.producer_id, transaction.producer_epoch
    )
    if transaction.verify_only:
        return {each: _verify(services, context, producer, each) for each in partitions}
    code = ErrorCode.NONE
    try:
        services.transaction_coordinator.add_partitions(
            producer,
            context.node_id,
            partitions,
            client_version=VERSION_2 if context.api_version >= _BATCHED_SINCE else VERSION_1,
        )
    except KafkaError as error:
        code = error.code
        if code is ErrorCode.PRODUCER_FENCED and context.api_version < _PRODUCER_FENCED_SINCE:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
    return dict.fromkeys(partitions, code)


def _verify(
    services: Services, context: RequestContext, producer: Producer, where: TopicPartition
) -> ErrorCode:
    try:
        services.transaction_coordinator.verify_partition(producer, context.node_id, where)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def _exists(services: Services, where: TopicPartition) -> bool:
    topic = services.topics.get(where.topic)
    return topic is not None and 0 <= where.partition < len(topic.partitions)


def _results(
    transaction: AddPartitionsToTxnTransaction, codes: Codes
) -> list[AddPartitionsToTxnTopicResult]:
    is_tried = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION not in codes.values()
    if is_tried and not transaction.verify_only:
        return [_topic_result(topic, codes) for topic in transaction.topics]
    # Else each partition is told of once, however often it was named, and nothing else.
    by_topic: dict[str, AddPartitionsToTxnTopicResult] = {}
    for where, code in codes.items():
        result = by_topic.setdefault(where.topic, AddPartitionsToTxnTopicResult(name=where.topic))
        result.results_by_partition.append(
            AddPartitionsToTxnPartitionResult(
                partition_index=where.partition, partition_error_code=code
            )
        )
    return list(by_topic.values())


def _topic_result(topic: AddPartitionsToTxnTopic, codes: Codes) -> AddPartitionsToTxnTopicResult:
    return AddPartitionsToTxnTopicResult(
        name=topic.name,
        results_by_partition=[
            AddPartitionsToTxnPartitionResult(
                partition_index=partition,
                partition_error_code=codes[TopicPartition(topic.name, partition)],
            )
            for partition in topic.partitions
        ],
    )
