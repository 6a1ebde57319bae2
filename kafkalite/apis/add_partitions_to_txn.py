"""AddPartitionsToTxn (key 24), versions 0-5: a transaction will write to these partitions (KIP-98).

Clients use v0-3, and only before transactions v2. From v4 on it is for brokers (KIP-890): several
transactions at once, and `verify_only`, which adds nothing. v2 knows PRODUCER_FENCED.
One partition that does not exist fails all the others of its transaction.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
from kafkalite.coordinators.transaction_coordinator.transaction import (
    VERSION_1,
    VERSION_2,
    TopicPartition,
)
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import AT_ONCE, Steps, at_once, cut, in_slices, release_dict
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResultRow,
    AddPartitionsToTxnRequestRow,
    AddPartitionsToTxnResponseRow,
    AddPartitionsToTxnResultRow,
    AddPartitionsToTxnTopicResultRow,
    AddPartitionsToTxnTopicRow,
    AddPartitionsToTxnTransactionRow,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

_BATCHED_SINCE: Final = 4
_PRODUCER_FENCED_SINCE: Final = 2


def handle(
    services: Services, context: RequestContext, request: AddPartitionsToTxnRequestRow
) -> AddPartitionsToTxnResponseRow | Coroutine[Any, Any, AddPartitionsToTxnResponseRow]:
    steps = _respond(services, context, request)
    # No element is smaller than the number of a partition.
    return at_once(steps) if context.request_bytes <= 4 * AT_ONCE else in_slices(steps, context)


def _respond(
    services: Services, context: RequestContext, request: AddPartitionsToTxnRequestRow
) -> Steps[AddPartitionsToTxnResponseRow]:
    transactions, transactional_id, producer_id, producer_epoch, topics = request
    if context.api_version < _BATCHED_SINCE:
        one = (transactional_id, producer_id, producer_epoch, False, topics)
        _, results = yield from _add(services, context, one)
        return 0, ErrorCode.NONE, (), results
    answers: list[AddPartitionsToTxnResultRow] = []
    is_supported = True
    for each in transactions:
        code, results = yield from _add(services, context, each)
        is_supported = is_supported and code is not ErrorCode.UNSUPPORTED_VERSION
        answers.append((each[0], results))
    if not is_supported:
        return 0, ErrorCode.UNSUPPORTED_VERSION, (), ()
    return 0, ErrorCode.NONE, answers, ()


def _add(
    services: Services, context: RequestContext, transaction: AddPartitionsToTxnTransactionRow
) -> Steps[tuple[ErrorCode, list[AddPartitionsToTxnTopicResultRow]]]:
    """All of a transaction's partitions are added together, or none is: the code of that."""
    transactional_id, producer_id, producer_epoch, verify_only, topics = transaction
    # Each partition once, and if it exists. To make named tuples would cost more than all else.
    named: dict[tuple[str, int], bool] = {}
    are_there = True
    for name, indexes in topics:
        found = services.topics.get(name)
        count = 0 if found is None else len(found.partitions)
        for some in cut(indexes):
            yield
            for index in some:
                is_there = 0 <= index < count
                are_there = are_there and is_there
                named[name, index] = is_there
    if not are_there:
        results = yield from _told_once(_not_tried(named))
        yield from release_dict(named)
        return ErrorCode.NONE, results
    producer = Producer(transactional_id, producer_id, producer_epoch)
    if verify_only:
        verified: dict[tuple[str, int], ErrorCode] = {}
        for where in named:
            verified[where] = _verify(services, context, producer, TopicPartition(*where))
            yield
        results = yield from _told_once(verified.items())
        yield from release_dict(named)
        return ErrorCode.NONE, results
    code = ErrorCode.NONE
    try:
        services.transaction_coordinator.add_partitions(
            producer,
            context.node_id,
            frozenset(named),
            client_version=VERSION_2 if context.api_version >= _BATCHED_SINCE else VERSION_1,
        )
    except KafkaError as error:
        code = error.code
        if code is ErrorCode.PRODUCER_FENCED and context.api_version < _PRODUCER_FENCED_SINCE:
            code = ErrorCode.INVALID_PRODUCER_EPOCH
    yield from release_dict(named)
    return code, (yield from _all_told(topics, code))


def _not_tried(
    named: Mapping[tuple[str, int], bool],
) -> Iterator[tuple[tuple[str, int], ErrorCode]]:
    """One partition that is not there keeps the others out."""
    for where, is_there in named.items():
        if is_there:
            yield where, ErrorCode.OPERATION_NOT_ATTEMPTED
        else:
            yield where, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _verify(
    services: Services, context: RequestContext, producer: Producer, where: TopicPartition
) -> ErrorCode:
    try:
        services.transaction_coordinator.verify_partition(producer, context.node_id, where)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def _all_told(
    topics: list[AddPartitionsToTxnTopicRow], code: ErrorCode
) -> Steps[list[AddPartitionsToTxnTopicResultRow]]:
    """The same for all partitions, as they were named."""
    results: list[AddPartitionsToTxnTopicResultRow] = []
    for name, indexes in topics:
        rows: list[AddPartitionsToTxnPartitionResultRow] = []
        for some in cut(indexes):
            rows += [(index, code) for index in some]
            yield
        results.append((name, rows))
    return results


def _told_once(
    codes: Iterable[tuple[tuple[str, int], ErrorCode]],
) -> Steps[list[AddPartitionsToTxnTopicResultRow]]:
    """Each partition is told of once, however often it was named, and nothing else."""
    by_topic: dict[str, list[AddPartitionsToTxnPartitionResultRow]] = {}
    for (name, index), code in codes:
        by_topic.setdefault(name, []).append((index, code))
        yield
    return [*by_topic.items()]
