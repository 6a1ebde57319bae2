"""AddPartitionsToTxn (key 24), versions 0-5: a transaction will write to these partitions (KIP-98).

Clients use v0-3, and only before transactions v2. From v4 on it is for brokers (KIP-890): several
transactions at once, and `verify_only`, which adds nothing. v2 knows PRODUCER_FENCED.
One partition that does not exist fails all the others of its transaction, and so does one of an
internal topic that a client names.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Coroutine
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
from kafkalite.coordinators.transaction_coordinator.transaction import (
    VERSION_1,
    VERSION_2,
    TopicPartition,
    code_of,
)
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import AT_ONCE, Steps, at_once, batches, in_slices, release_dict
from kafkalite.requests.topic_names import INTERNAL_TOPICS
from kafkalite.wire.api_keys import ADD_PARTITIONS_BATCHED_SINCE
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
    if context.api_version < ADD_PARTITIONS_BATCHED_SINCE:
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
    kept_out = INTERNAL_TOPICS if context.api_version < ADD_PARTITIONS_BATCHED_SINCE else ()
    named = yield from _named(services, kept_out, topics)
    if named is None:
        results = yield from _told_once(topics, partial(_not_tried, services, kept_out))
        return ErrorCode.NONE, results
    producer = Producer(transactional_id, producer_id, producer_epoch)
    if verify_only:
        yield from _released(named)
        results = yield from _told_once(topics, partial(_verify, services, context, producer))
        return ErrorCode.NONE, results
    code = ErrorCode.NONE
    try:
        services.transaction_coordinator.add_partitions(
            producer,
            context.node_id,
            named,
            client_version=VERSION_2
            if context.api_version >= ADD_PARTITIONS_BATCHED_SINCE
            else VERSION_1,
        )
    except KafkaError as error:
        code = code_of(error, context)
    yield from _released(named)
    return code, (yield from _all_told(topics, code))


def _named(
    services: Services, kept_out: Container[str], topics: list[AddPartitionsToTxnTopicRow]
) -> Steps[dict[str, set[int]] | None]:
    """The partitions that are named; None if one of them does not exist, or its topic is kept
    out."""
    named: dict[str, set[int]] = {}
    for name, indexes in topics:
        yield
        count = 0 if name in kept_out else _partition_count(services, name)
        of_topic = named.setdefault(name, set())
        for some in batches(indexes):
            yield
            for index in some:
                if not 0 <= index < count:
                    yield from _released(named)
                    return None
                of_topic.add(index)
    return named


def _released(named: dict[str, set[int]]) -> Steps[None]:
    """To free few takes no time."""
    if len(named) > AT_ONCE:
        yield from release_dict(named)


def _partition_count(services: Services, name: str) -> int:
    found = services.topics.get(name)
    return 0 if found is None else len(found.partitions)


def _not_tried(services: Services, kept_out: Container[str], name: str, index: int) -> ErrorCode:
    """One partition that is not there, or whose topic is kept out, refuses the others."""
    if name in kept_out:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if 0 <= index < _partition_count(services, name):
        return ErrorCode.OPERATION_NOT_ATTEMPTED
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _verify(
    services: Services, context: RequestContext, producer: Producer, name: str, index: int
) -> ErrorCode:
    where = TopicPartition(name, index)
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
        for some in batches(indexes):
            rows += zip(some, repeat(code))
            yield
        results.append((name, rows))
    return results


def _told_once(
    topics: list[AddPartitionsToTxnTopicRow], tell: Callable[[str, int], ErrorCode]
) -> Steps[list[AddPartitionsToTxnTopicResultRow]]:
    """Each partition is told of once, however often it was named, and nothing else."""
    results: list[AddPartitionsToTxnTopicResultRow] = []
    told: dict[str, tuple[set[int], list[AddPartitionsToTxnPartitionResultRow]]] = {}
    for name, indexes in topics:
        yield
        if not indexes:
            continue
        of_topic = told.get(name)
        if of_topic is None:
            of_topic = told[name] = set[int](), []
            results.append((name, of_topic[1]))
        named, rows = of_topic
        for index in indexes:
            if index not in named:
                named.add(index)
                rows.append((index, tell(name, index)))
            yield
    yield from release_dict(told)
    return results
